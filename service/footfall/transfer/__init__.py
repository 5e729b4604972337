"""Import and export of other comment systems' files."""
