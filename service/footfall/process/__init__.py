"""What there is once in a process."""
