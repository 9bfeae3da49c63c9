"""Scopes: the tree of a function in, its scope tree out: which names each function binds, reads and captures.

What names from outside mean is asked of a `Resolver` (`name_resolution`): types for annotations, constants, defaults.
"""
