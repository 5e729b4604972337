"""What the service says of itself: lines, and numbers."""
