"""Redis itself: connections, batches, scripts and safety; nothing of a site's nouns."""
