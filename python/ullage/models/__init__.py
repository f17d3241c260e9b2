"""The limits of models: how many tokens each takes and gives."""
