"""A client for any git server, over HTTPS only."""
