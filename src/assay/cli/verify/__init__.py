"""`assay verify`: verify a skill against its hallmark."""
