"""Programs that train something; `python -m examples.training.NAME` runs one in full, and draws what it reached."""
