"""What is answered while the database is away."""
