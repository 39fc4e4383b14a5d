"""PostgreSQL: the one truth. All SQL of the product is in this package."""
