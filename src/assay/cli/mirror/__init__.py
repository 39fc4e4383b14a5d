"""`assay mirror`: keep a verified, read-only copy of a registry."""
