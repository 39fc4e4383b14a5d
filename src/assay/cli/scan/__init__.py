"""`assay scan`: the scanner of the registry for authors and continuous integration, without a registry."""
