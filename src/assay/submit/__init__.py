"""Submission of skills: validation and admission."""
