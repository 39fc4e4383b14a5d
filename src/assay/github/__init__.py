"""A client for the few GitHub endpoints that Assay needs, its rate limits, and sign-in."""
