"""Exit codes, as linters have them."""

# All is well; something was found; the command could not do its work.
FINE, FOUND, FAILED = 0, 1, 2
