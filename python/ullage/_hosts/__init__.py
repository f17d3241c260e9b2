"""The parts that the adapters of hosts share."""
