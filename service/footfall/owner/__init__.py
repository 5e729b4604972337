"""The admin UI: what its pages ask for, and those that the server makes."""
