"""Random programs about ways out: exceptions, matches, generators, closures, contexts, and returns out of all of them."""
