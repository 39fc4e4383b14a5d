"""Scanners: processes of their own in which skills are looked at, so that whatever happens there happens only there."""
