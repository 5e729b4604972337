"""Notifications of comments: each channel turns news into what it sends, and sends it once."""
