"""The operations: which paths there are, what each asks for, and what it answers."""
