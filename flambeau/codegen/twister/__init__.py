"""Random numbers by native code: the words of a Mersenne twister, and what `tensor.random_draws` makes of them.

All functions read and write the state of NumPy's own generator of bits, and give the bits that NumPy's way gives, so
that a stream goes on the same whoever draws from it.
"""
