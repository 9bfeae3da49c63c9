"""Calls: what is known of the arguments, the plan made for it, and the choice of what runs it.

Where to look (`*` stands for several files):

- a call of a function: `executor`, `options`; the plan: `plan`, `plan_graph`, `plan_body`, `prepared_graph`,
  `inlined_graph`; made behind calls: `background`; before there is one: `first_tier`; in mixed precision: `precisions`
- native code of a plan: `compiled_graph`; of parts: `region`, `native_parts`, `trial`, `short_loops`, `element_reads`,
  `number_calls`; of groups: `fused`, `split_groups`, `lowered_groups`
- methods without their object: `parameter_promotion`, `promoted_*`, `attribute_reads`, `assigned`, `known_classes`
- gradients: `gradients`, `derivatives`; one node of the tape: `compiled_calls`, `compiled_gradients`,
  `repeated_calls`; otherwise: `recomputed_calls`, `differentiable_regions`; again with arguments as before:
  `asking_calls`
- operators by themselves: `eager`, `repeated_operators`, `repeated_gradients`; on large arrays: `large_*`,
  `row_folds`; layers: `*_kernels`, `native_draws`; on devices: `device_kernels` and the folder `devices`
- tasks: `forks`, `task_waits`, `joined_tasks`
- kept on disk: `stored*`, `records`, `kept_*`, `read_plan`, `native_records`
- what users look at: `explain`, `explanation_notes`, `report`, `listing`, `advice`, `watch`, `profile`, `ledger`,
  `ptx`, `debug_state`; measured choices: `tune`, `timing`, `limits`
- the profiling executor: the folder `profiling`
"""
