"""Assay: a registry that proves what it checked about agent skills."""

from importlib.metadata import version

__version__ = version("assay-registry")
