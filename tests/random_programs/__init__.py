"""Random programs: made, run on every path, compared with CPython on eager tensors, shrunk when they differ."""
