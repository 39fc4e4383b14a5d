"""The outside world: any git server, over HTTPS and nothing else."""
