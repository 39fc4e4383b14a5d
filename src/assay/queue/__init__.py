"""Keeps work until it is done: a thin room around PgQueuer that knows jobs and outcomes, not skills."""
