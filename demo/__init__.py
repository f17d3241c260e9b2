"""A real `strands.Agent` over this checkout, without ullage and with it: `python -m demo`."""
