"""What somebody who means harm may try, as a list: who, what, and what happens instead.

Each test here says all three in its docstring, in that order; `python -m tests.attacks` prints the
list.
"""
