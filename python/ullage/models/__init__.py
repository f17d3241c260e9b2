"""The limits of models: the tokens of their requests and answers."""
