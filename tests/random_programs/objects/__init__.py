"""Random programs with classes, dataclasses, enums, named tuples, interfaces and context managers."""
