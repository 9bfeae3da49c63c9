"""Floor 0: exceptions, source positions and small data structures that know nothing about programs."""
