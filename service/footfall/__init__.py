"""Footfall: read counts and comments over HTTP, kept in Redis.

A request goes one way: http (read) -> api (parse) -> domain (decide) -> store (commands) -> driver
(send) -> lua (run), and the reply comes back through render and the envelope. Nothing below api
knows HTTP, nothing above store knows a key, and a stage with nothing to do is left out.
"""

__version__ = "0.2.0"
