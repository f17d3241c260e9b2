"""The engine carries out the core's decisions. Nothing here is public by itself."""
