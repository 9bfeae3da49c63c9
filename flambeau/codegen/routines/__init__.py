"""Routines: native code compiled before any program came, which computes whole operators for plans and native graphs.

A group of a plan has a kernel of its own, or a routine. Both are run by launches: a block of words with the addresses
of inputs and outputs, and the range of the outermost loop. So native functions, entries from Python, threads and
reports treat them alike. What follows from sizes and strides is worked out once for a launch.
"""
