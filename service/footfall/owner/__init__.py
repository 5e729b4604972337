"""The admin UI: its operations, and the pages made by the server."""
