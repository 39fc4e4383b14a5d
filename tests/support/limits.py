"""Rate limits for tests that are about something else: counted, but out of reach."""

from assay.settings import Settings, variable_name

HIGH = "1000000000"
# Those that tests reach on purpose keep their defaults.
KEPT = frozenset({"limit_token_percent", "limit_sign_in", "limit_sign_in_address", "limit_rescans", "limit_appeals"})
HIGH_LIMITS = {
    variable_name(name): HIGH
    for name in Settings.model_fields
    if name.startswith("limit_") and name not in KEPT and "report" not in name and "install" not in name
}
