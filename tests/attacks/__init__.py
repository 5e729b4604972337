"""What somebody who means harm may try, as a list: who, what, and what happens instead.

The docstring of each test says all three in that order; `python -m tests.attacks` prints the list.
"""
