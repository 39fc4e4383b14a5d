"""`assay scan`: the registry's scanner for authors and continuous integration, without a registry."""
