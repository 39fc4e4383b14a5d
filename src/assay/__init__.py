"""Assay: a registry that proves what it checked about agent skills."""

# Defined here because reading it from package metadata slows down every command.
__version__ = "0.1.0"
