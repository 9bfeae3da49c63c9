"""Source: a Python function in, its text out, with where it stands in the user's file and what its names mean there."""
