"""The load generator of `footfall bench` and `verify`. It imports nothing else of the service."""
