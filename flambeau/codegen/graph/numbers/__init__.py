"""Numbers in registers: the Scalar meaning of operators, Python's functions to the bit, complex numbers as two floats.

Where to look:

- `scalars`, `refusals`, `halves`, `number_words`; ints: `whole_numbers`; Python's functions: `float_parts`, `exact_*`,
  `gamma_functions`, `sincos`; what is only compared: `compared_squares`
- `complex_numbers`, `complex_functions`; NumPy's: `complex_scalars`; in tensors: `complex_elements`, `complex_arrays`
"""
