"""The formats of known tools, one a file."""
