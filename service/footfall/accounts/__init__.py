"""Accounts, sessions and bans: their operations, rules and storage."""
