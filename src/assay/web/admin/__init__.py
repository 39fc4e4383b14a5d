"""What admins may do over HTTP."""
