"""What tests share: real servers, clients, and fakes."""
