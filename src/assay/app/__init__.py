"""The only builder: from Settings to everything a process works with."""
