"""The parts that exist once per process."""
