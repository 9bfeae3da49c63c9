"""Random numbers in native code, each as the generator gives it that the program names.

Where to look: NumPy's, `numpy_draws`, `numpy_array_draws`, `draw_slots`; of a generator that the program made:
`generator_draws`, `generator_functions`; tensors of the default generator: `tensor_draws`.
"""
