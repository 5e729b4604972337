"""The rules of comments."""
