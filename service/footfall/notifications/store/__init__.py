"""Notifications in Redis."""
