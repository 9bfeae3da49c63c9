"""Whole graphs as one native function: control flow, scalars, element access, lists, and calls of kernels.

Where to look (`*` stands for several files):

- from a graph to text: `compile`, `module`, `function`, `parts`, `native`, from the cache on disk `read_function`;
  which node becomes what: `lowerings`, `lowering_tables`, and in whatever file below has a type or an operator; what
  these see of the function: `emitted_function`
- values while code is made: `representation`, `native_values`, `value_table`, `slots`, `lifetimes`, `memory`,
  `result_types`, `literals`, `overlap`
- control flow: `loops`, `control`, `counted_while`, `hoisted_*`, `meetings`, `bit_counts`, `scope`; iterations side by
  side: `lanes*`, `asked_lanes`, `strided_loads`; on threads: `parallel_loops`, `teams`; calls: `calls`, `results`,
  `call_stack`; blocks, polls and calls of Python: `runtime`, `shared_runtime`, `block_bins`
- ways out, to Python and back: `side_exits`, `exit_points`, `refusals`, `interpreter_calls`, `marshalling`,
  `shown_tensors`, `taken_results`
- calls from outside: `entry_stub`, `reference_entry`, `signature`, `abi`; from and to Numba and C: `foreign*`, `shim`,
  `ufunc*`
- numbers: `scalars`, `whole_numbers`, `float_parts`, `exact_*`, `sincos`, `halves`, `complex_*`, `number_words`,
  `number_formats`, `text_numbers`
- containers: `lists`, `list_*`, `stacks`, `dicts`, `dict_*`, `sets`, `merge_sort`; texts: `texts`, `text_*`
- tensors: `arrays`, `pointwise`, `element_indexes`; views: `axes`, `pieces`, `resized_views`, `diagonals`; new ones:
  `creation`, `tensor_literals`, `tensor_constants`, `copies`, `repeats`, `reordered`, `rearranging`; written ones:
  `writes`, `index_put`, `scatter`, `part_writes`
- operators with loops of their own: `gather`, `picks`, `sorting`, `ordered_lines`, `distinct`, `running_folds`,
  `bags`, `distances`, `picked_losses`, `packing`; by NumPy's code: `matrices`, `factors`, `triangular`,
  `fourier_transforms`
- random numbers: `tensor_draws`, `numpy_draws`, `numpy_array_draws`, `generator_*`, `draw_slots`
- fused groups: `groups`, `group_launches`, `group_runner`, `embedded`; operators by routines: the folder `routines`
"""
