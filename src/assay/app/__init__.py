"""The only builder: creates everything a process uses from its settings."""
