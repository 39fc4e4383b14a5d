"""`assay doctor`."""
