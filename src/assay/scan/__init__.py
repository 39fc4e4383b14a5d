"""Look: a pure reading of every file that ships, from a source and a ruleset to a report."""
