"""What fleets of this service would carry: docs/scaling.md and bench/scaling.md."""
