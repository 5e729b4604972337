"""The operations: their paths, the requests that each accepts, and its answers."""
