"""PostgreSQL, the source of truth. All SQL of the product is in this package."""
