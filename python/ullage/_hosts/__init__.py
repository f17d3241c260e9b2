"""What the adapters of hosts share."""
