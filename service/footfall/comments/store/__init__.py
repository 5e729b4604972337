"""Comments in Redis."""
