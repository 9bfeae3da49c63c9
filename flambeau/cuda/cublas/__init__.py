"""Products of matrices on devices by cuBLAS, whose C functions are called directly: CuPy's ways to them refuse to be
part of a CUDA graph.
"""
