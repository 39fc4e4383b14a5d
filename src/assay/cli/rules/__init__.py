"""`assay rules`: what the scanner looks for, and whether rules do what their specimens say."""
