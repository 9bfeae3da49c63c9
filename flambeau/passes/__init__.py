"""Transformations of graphs, one verb a file: `do(graph)` changes the graph in place and says whether it did.

Which run, in which order and why: `order`; how they are run: `pipeline`, `steps`; by name: `by_name`; on devices:
`device_steps`. Where to look (`*` stands for several files):

- simpler: `peephole*`, `constant_propagation`, `constant_pooling`, `cse`, `dce`, `list_idioms`, `evaluate`,
  `canonicalize*`
- control flow: `fold_*`, `short_circuit`, `loop_unrolling`, `licm`, `sink`, `modified_loops`, `separate_ways`,
  `refine_*`
- calls, tasks and recursion: `inline*`, `recursion`, `join_tasks`, `narrow_tasks`, `freeze_tasks`
- containers, tuples and objects become values: `settle_containers`, `lower_*`, `split_*`, `stacked_values`,
  `open_containers`, `batched_results`, `scalar_replacement`
- writes become new values: `remove_*mutation`, `remove_inplace_ops`, `check_inplace`
- what is known goes into the graph: `settle_*`, `retype`, `propagate_requires_grad`, `refine_absence`,
  `convert_dtypes`, `complex_parts`
- groups for kernels: `fuse*`, `fusible`, `grow_groups`, `outline`, `epilogues`, `rows_first`, `part_products`,
  `batch_mm`, `static_operands`; which dimensions they fold over: `folded`
- gradients: `create_*`, `specialize_autogradzero`, `lower_grad_of`, `drop_*`; mixed precision: `autocast*`,
  `widen_halves`
- saved models: `freeze*`, `frozen_numerics`, `*_frozen_linear`, `remove_dropout`; patterns: `match_patterns`,
  `rewrite_patterns`, `run_decompositions`
"""
