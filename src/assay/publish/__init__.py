"""Publishing, refusing and postponing submissions."""
