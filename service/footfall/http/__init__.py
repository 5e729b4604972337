"""HTTP as such: from bytes to values and from replies to bytes; no operation is known."""
