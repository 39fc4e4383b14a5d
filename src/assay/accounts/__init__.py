"""Accounts: signing in, sessions, tokens, roles, permissions and rate limits."""
