"""Puts out what was approved, refuses what was not, and postpones what could not be examined."""
