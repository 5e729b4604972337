"""Runs the service: its processes, sockets and signals."""
