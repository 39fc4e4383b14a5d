"""`assay review`: submissions that wait for a person, and the decision on them."""
