"""The operations on accounts."""
