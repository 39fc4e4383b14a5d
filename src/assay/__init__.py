"""Assay: a registry that proves what it checked about agent skills."""

# Here, because asking the installed package for it costs every command some hundredths of a second.
__version__ = "0.1.0"
