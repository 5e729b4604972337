"""The whole data set, and what belongs to no noun: its size, its log, limits of addresses."""
