"""Notifications: their operations, rules and storage."""
