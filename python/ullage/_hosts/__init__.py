"""What the adapters of hosts share whose requests are those of a ``View``."""
