"""A load generator, and trials with it; imports nothing of ours, and serve does not load it."""
