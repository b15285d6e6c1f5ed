"""Tonnage: raw web pages, text and code to tokenized training shards with a documented mixture."""

__version__ = "0.1.0"
