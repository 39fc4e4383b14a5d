"""`assay scan`: run the registry's scanner locally or in CI, without a registry."""
