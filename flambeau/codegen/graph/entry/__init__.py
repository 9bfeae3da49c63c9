"""How native functions of whole graphs are called, and what goes in and comes back.

Where to look:

- from Python: `entry_stub`, and in Python what that does, `reference_entry`; `abi`, `signature`, `block_bins`
- values as words and back: `marshalling`, `taken_results`, `shown_tensors`, `python_blocks`
- from and to Numba and C: `foreign*`, `shim`; from NumPy, as universal functions: `ufunc*`
"""
