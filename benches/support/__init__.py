"""Shared parts of the benchmarks: the machine, the hosts' estimates, texts, conversations."""
