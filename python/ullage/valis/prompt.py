"""What the model is told about its context."""

SEGMENT = """
## Context Management

Your conversation history is automatically managed to stay within context limits:

1. **Large outputs** are saved to `/tool_outputs/` with a preview shown
2. **File contents** from write/edit operations are replaced with pointers, and saved as they were
   to `/tool_inputs/`
3. **If context gets very long**, a summary is created and full history saved to
   `/conversation_history/`

**To recover information:**
- Use `read_file("/tool_outputs/...")` to view full tool outputs
- Use `grep("keyword", "/conversation_history/")` to search past conversations
- Use `ls("/conversation_history/")` to see saved conversations

The original, uncompacted conversation is always preserved on the filesystem.
"""
