import importlib

rendering = importlib.import_module("metajudge.api.pages.rendering")


KEY = "k" * 32
