"""The copy at the edge: what is published, derived from the database, for the time when that is away."""
