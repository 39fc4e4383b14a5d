"""`assay verify`: whether a skill is what a registry has certified."""
