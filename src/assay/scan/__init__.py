"""Static scan (tier 1): a pure function from a source and a ruleset to a report."""
