"""How a setting is called in the environment."""

PREFIX = "ASSAY_"
CONFIG_VARIABLE = "ASSAY_CONFIG"


def variable(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()


def field_of(name: str) -> str:
    """The field of an environment variable; nothing if it is none of ours."""
    return name.removeprefix(PREFIX).lower() if name.startswith(PREFIX) else ""
