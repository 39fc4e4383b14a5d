"""`/api/v1`: JSON in, JSON out."""
