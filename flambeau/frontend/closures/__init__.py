"""Nested functions: the scope tree and the emission around a definition in, a function with what it captures out.

Lambdas, generators, returned functions and functions that are passed on capture alike (`captures`): a call passes the
variables of the defining scope as further parameters, in cells where the function assigns them.
"""
