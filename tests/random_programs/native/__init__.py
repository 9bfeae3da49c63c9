"""Programs for native code of whole graphs: scalars, loops, single elements, lists and calls, with hostile arguments."""
