"""Content storage: the files of skills by digest, in a directory or an object store."""
