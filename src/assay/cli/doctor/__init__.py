"""`assay doctor`: check the installation and recommend what to do."""
