"""What an engine did: reports of compactions, and recordings of sessions."""
