"""The recipe: its schema and how a YAML file becomes one. The only package that knows the YAML."""

from tonnage.recipe.load import load_recipe
from tonnage.recipe.schema import Recipe, json_schema

__all__ = ["Recipe", "json_schema", "load_recipe"]
