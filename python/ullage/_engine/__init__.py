"""The engine carries out what the core decides. Nothing here is public by itself."""
