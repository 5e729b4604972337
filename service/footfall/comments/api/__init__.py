"""The operations on comments."""
