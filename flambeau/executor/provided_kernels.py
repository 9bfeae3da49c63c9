"""The native code that operators and layers find where the compiler is: each module gives its kernels to who asks below
it (`util.inversions`), and is imported for that.
"""

from flambeau.executor import (
    attention_kernels,
    convolution_kernels,
    device_kernels,
    eager,
    large_conversions,
    native_draws,
    quantized_kernels,
    quantized_windows,
    recurrent_kernels,
    row_folds,
)

PROVIDED = (
    attention_kernels, convolution_kernels, device_kernels, eager, large_conversions, native_draws, quantized_kernels,
    quantized_windows, recurrent_kernels, row_folds,
)  # fmt: skip
"""Of attention, convolutions, the same on devices, eager operators, arrays of other dtypes, random numbers, quantised
layers and windows, steps of recurrent layers, and sums along rows."""
