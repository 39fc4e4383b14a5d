"""Accepts what people send: one admission for every way in."""
