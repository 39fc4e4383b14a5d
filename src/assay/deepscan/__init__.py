"""Looks again: external tools at what is published, on nodes of their own, and what their results mean."""
