"""The numbered, forward-only steps that build the schema."""
