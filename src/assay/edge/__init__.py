"""The edge copy: a key-value copy of the live catalogue, derived from the database, for reads while it is down."""
