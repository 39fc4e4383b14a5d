"""The model endpoint: one question at a time, with typed errors, a breaker and prices."""
