"""Code that the adapters of several hosts share."""
