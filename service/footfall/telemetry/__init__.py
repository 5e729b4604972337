"""What the service reports about itself: log lines and metrics."""
