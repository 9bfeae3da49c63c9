"""SSA: a graph with loads, stores and early exits in, a graph out whose every value is made in one place."""
