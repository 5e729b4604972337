"""HTTP: from bytes to values and from replies to bytes. Nothing here knows an operation."""
