"""Exit codes."""

# As linters have them: all is well; something was found; the command could not do its work.
FINE, FOUND, FAILED = 0, 1, 2
# What shells say of a program that the user stopped: 128 and the number of the signal.
INTERRUPTED = 130
