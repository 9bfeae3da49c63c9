"""Routines over tensors of any rank that native functions call by address, compiled once for all of them.

Sizes are counts and strides bytes, in arrays of words. The code is the same for every element type of a width: elements
are moved, never looked at.
"""
