"""What the benchmarks share: the machine, the hosts' estimates, texts and conversations."""
