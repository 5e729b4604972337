"""Footfall: read counts and comments over HTTP, kept in Redis.

A request passes the layers in one order: http (read) -> api (parse) -> rules (decide) -> store
(commands) -> driver (send) -> lua (run); the reply returns through render and the envelope. Nothing
below api knows HTTP, nothing above store knows a key, and layers without work are left out.
"""

__version__ = "0.2.0"
