"""Usage and cost of model calls, and the savings of compactions."""
