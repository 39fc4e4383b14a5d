"""What admins do to the queue: pause, reorder, take out, hold, requeue. Each is in the history and in the audit."""
