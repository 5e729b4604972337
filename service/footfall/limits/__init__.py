"""How all share what is scarce: pools of slow work and of places, and buckets of tokens."""
