"""Moving in and out: files of other comment systems become what is stored here, and the reverse."""
