"""Notifications of comments: each channel turns news into a message, and sends it once."""
