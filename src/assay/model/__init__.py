"""Domain types: immutable values without I/O."""
