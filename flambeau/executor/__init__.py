"""Calls: what is known of the arguments, the plan made for it, and the choice of what runs it."""
