"""Random programs that are modules: parameters, buffers, attributes, submodules, methods and hooks."""
