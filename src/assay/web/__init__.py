"""HTTP: the API, the pages and the health routes. Knows status codes, never SQL."""
