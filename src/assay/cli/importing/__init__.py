"""`assay import`."""
