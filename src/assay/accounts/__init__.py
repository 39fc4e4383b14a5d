"""People: how they prove who they are, and how long that holds."""
