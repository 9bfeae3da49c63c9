"""Layers: modules with parameters, or with settings alone."""
