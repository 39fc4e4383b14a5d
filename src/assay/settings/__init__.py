"""The settings of a process, from the environment over a file; nothing else reads the environment."""

from assay.settings.reading import has_secrets, read, with_secrets
from assay.settings.settings import SECRET_FIELDS, Settings
from assay.settings.variables import variable

__all__ = ["SECRET_FIELDS", "Settings", "has_secrets", "read", "variable", "with_secrets"]
