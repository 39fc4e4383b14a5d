"""Programs that feed the code with what nobody would write; CONTRIBUTING.md says how to run them."""
