"""The command line: prints, reads arguments, exits. Each command is a file."""
