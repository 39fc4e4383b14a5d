"""Bytes by their digest: the files of skills, kept where an object store or a directory keeps them."""
