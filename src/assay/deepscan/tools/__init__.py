"""One file an external tool."""
