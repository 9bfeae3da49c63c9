"""The version of this package, which is part of what compiled code is remembered by."""

__version__ = "0.1.0"
