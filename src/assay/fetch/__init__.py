"""Brings the files of a skill, at a pinned commit, through limits, once a repository and commit."""
