import typer

from .study import __doc__ as about
from .study import main

main.__doc__ = about
typer.run(main)
