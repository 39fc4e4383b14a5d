"""The outside world: GitHub, through few endpoints."""
