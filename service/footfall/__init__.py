"""Footfall: read counts and comments over HTTP, kept in Redis.

A request walks one way: web (parse) -> domain (decide) -> store (ask) -> lua (do), and the reply
comes back up through render (show) and the dialect (say). Nothing below web knows HTTP, nothing
outside store knows Redis, and a stage with nothing to decide is skipped, not padded.
"""

__version__ = "0.2.0"
