"""Operators on small matrices in native code, by NumPy's loops where it has them: larger ones are Python's.

Where to look: `matrices`, `complex_matrices`, `factors`, `triangular*`, `distances`, `diagonals`,
`fourier_transforms`.
"""
