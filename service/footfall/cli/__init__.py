"""The commands of `footfall`."""
