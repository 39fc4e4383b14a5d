"""`/auth`: signing in and out, and staying signed in."""
