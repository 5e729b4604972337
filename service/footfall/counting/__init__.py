"""Views and reactions, from the request to the script. README.md gives the order in which to read
it."""
