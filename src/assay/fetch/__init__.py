"""Fetches the files of a skill at a pinned commit, within limits, once per repository and commit."""
