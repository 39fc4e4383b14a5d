"""The media type of problem bodies (RFC 9457)."""

PROBLEM = "application/problem+json"
