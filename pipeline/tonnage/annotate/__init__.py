"""Columns computed from one document at a time, for rules to decide over."""
