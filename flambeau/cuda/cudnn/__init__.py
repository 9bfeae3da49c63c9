"""Convolutions by cuDNN, through its C functions: CuPy has none.

Where the library is missing, convolutions on devices are products of columns, as on a host without native code.
"""
