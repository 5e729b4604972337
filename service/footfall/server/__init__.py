"""Processes, sockets and signals."""
