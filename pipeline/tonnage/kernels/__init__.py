"""Compiled kernels over plain arrays of bytes and numbers; they import nothing of the project."""
