"""Weigh: what the findings of a report mean for the submission, as pure functions of values."""
