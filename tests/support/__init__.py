"""What tests use: servers, clients, and stand-ins."""
