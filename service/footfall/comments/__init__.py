"""Comments: their operations, rules and storage."""
