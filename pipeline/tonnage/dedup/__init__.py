"""Duplicates: documents that fall because another one, kept, says the same."""
