"""Transforms of scripted functions as scripted functions."""
