"""Import and export: files of other comment systems become what is stored here, and the reverse."""
