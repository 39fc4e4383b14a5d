"""Where skills are found, one file each."""
