"""The rules of accounts."""
