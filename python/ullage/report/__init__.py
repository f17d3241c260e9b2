"""Reports of compactions, and recordings of sessions."""
