"""External scan tools, one per file."""
