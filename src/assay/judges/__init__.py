"""Asks a model about a skill: within a budget, in parts, and only once for the same bytes."""
