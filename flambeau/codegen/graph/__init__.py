"""Whole graphs as one native function: control flow, scalars, element access, lists, and calls of kernels.

Where to look:

- from a graph to text: `compile`, `module`, `function`, `parts`, `native`, from the cache on disk `read_function`;
  which node becomes what: `lowerings`, `lowering_tables`, and in whatever folder below has a type or an operator; what
  these see of the function: `emitted_function`, `named_operands`
- values while code is made: `representation`, `native_values`, `value_table`, `slots`, `lifetimes`, `releases`,
  `memory`, `result_types`, `literals`, `overlap`, `identity`, `moves`
- control flow: the folder `loops`, `scope`, `counters`; calls: `calls`, `results`, `call_stack`; blocks, polls and
  calls of Python: `runtime`, `shared_runtime`
- ways out, to Python and back: `side_exits`, `exit_points`, `interpreter_calls`
- calls from outside, and values as words: the folder `entry`
- types: the folders `numbers`, `texts`, `containers`, `objects`, `tensors`
- operators: the folders `tensors`, `linear_algebra`, `random`; by code of their own: `routines`; fused: `groups`
"""
