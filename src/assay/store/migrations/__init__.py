"""Numbered, forward-only migrations that build the schema."""
