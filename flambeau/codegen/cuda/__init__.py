"""Kernels for CUDA: loop nests mapped to blocks, warps and threads, as LLVM text for NVPTX, as PTX.

>>> import numpy as np
>>> from flambeau.codegen.cuda.bound_program import Layout, bind_program
>>> from flambeau.codegen.cuda.simulator import simulate
>>> from flambeau.codegen.kernel import parse_kernel
>>> kernel = parse_kernel('''
... kernel row_sum {
...   axes i, j
...   in x: float32[i, j]
...   out y: float32[i]
...   for i {
...     for j reduce s: float32 = sum {
...       %0: float32 = load x[i, j]
...       s <- %0
...     }
...     store y[i], s
...   }
... }
... ''')
>>> x = np.arange(200, dtype=np.float32).reshape(2, 100)
>>> bound = bind_program(kernel, (), [Layout.of(x)])
>>> print(bound.schedule.key())
warp of 128 threads, at most 1048576 blocks narrow 2 slots of 2 of x
>>> simulate(bound, x)[0]
array([ 4950., 14950.], dtype=float32)
"""
