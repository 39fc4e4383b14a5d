"""The queue: a thin layer over PgQueuer that knows jobs and outcomes, not skills."""
