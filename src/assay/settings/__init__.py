"""The settings of a process, read from the environment and a file. No other package reads the environment."""

from assay.settings.settings import (
    SECRET_FIELDS,
    Settings,
    has_secrets,
    is_address_trusted,
    read,
    user_config_folder,
    variable_name,
    with_secrets,
)

__all__ = [
    "SECRET_FIELDS",
    "Settings",
    "has_secrets",
    "is_address_trusted",
    "read",
    "user_config_folder",
    "variable_name",
    "with_secrets",
]
