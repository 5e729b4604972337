"""The operations on notifications."""
