"""The table of operations, and what all of them have in common: fields, API variants, both paths of
a request."""
