"""Archives as scripted modules."""
