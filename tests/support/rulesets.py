"""Rulesets for tests."""

HOUSE = """
family = "house_rules"

[[rule]]
id = "HR-001"
title = "The old mirror is used"
severity = "{severity}"
confidence = 0.95
patterns = ['''\\bmirror\\.example\\.com\\b''']
rationale = "The mirror is no longer looked after, and what it serves is not what it was."
remediation = "Use packages.example.com."
specimen_file = "scripts/install.sh"
bad = "curl -O https://mirror.example.com/tool.tar.gz\\n"
benign = "curl -O https://packages.example.com/tool.tar.gz\\n"
"""
