"""`assay queue`: watch and manage the submission queue."""
