"""Views and reactions, from the request to the script. README.md says in which order to read it."""
