"""The nouns: values without I/O that every chapter of the story passes on."""
