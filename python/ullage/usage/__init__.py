"""What model calls used and cost, and what a compaction saves of it."""
