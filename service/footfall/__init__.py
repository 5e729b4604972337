"""Footfall: read counts and comments over HTTP, kept in Redis.

A request walks one way: http (read) -> api (parse) -> domain (decide) -> store (ask) -> driver
(send) -> lua (do), and the reply comes back up through render (show) and the envelope (say).
Nothing below api knows HTTP, nothing above store knows a key, and a stage with nothing to decide
is skipped, not padded.
"""

__version__ = "0.2.0"
