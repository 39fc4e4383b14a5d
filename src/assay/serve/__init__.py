"""Read models: what the API, the pages and the commands show. Each number is defined once, here."""
