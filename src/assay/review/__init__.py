"""Where people decide: reviews, suppressions, appeals, rescans and security reports."""
