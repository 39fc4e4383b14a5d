"""Signs what was found: a tier, a trust score and a hallmark that anyone can check."""
