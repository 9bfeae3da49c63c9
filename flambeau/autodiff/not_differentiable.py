"""The refusal of what has no derivative as a graph."""


class NotDifferentiableError(Exception):
    """A graph, or a part of it, has no derivative as a graph; the text says why."""
