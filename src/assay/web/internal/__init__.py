"""What only machines of the operator call, with the internal key."""
