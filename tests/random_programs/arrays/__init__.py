"""Random programs on arrays as NumPy users write them, compared with NumPy."""
