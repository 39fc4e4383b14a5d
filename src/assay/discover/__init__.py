"""Finding skills that nobody has submitted."""
