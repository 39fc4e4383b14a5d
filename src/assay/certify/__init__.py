"""Certification of versions: tier, trust score and a signed hallmark that anyone can verify."""
