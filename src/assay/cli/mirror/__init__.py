"""`assay mirror`."""
