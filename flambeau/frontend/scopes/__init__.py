"""Scopes: the tree of a function in, its scope tree out: which names each function binds, reads and captures."""
