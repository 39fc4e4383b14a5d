"""Discovery of skills that were not submitted: sources, runs, inspection, and GitHub's webhook."""
