"""Discovery sources, one per file."""
