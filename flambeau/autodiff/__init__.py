"""The derivative of a graph, as a graph: reverse mode through branches, loops, numbers and writes.

Where to look (`*` stands for several files):

- backwards: `differentiate`, `derivatives`, `activity`, `reverse`, `scope`, `split`; a node: `operator_gradients`,
  `eager_gradient`, `structural_gradients`, `number_operands`, `picked_gradients`; formulas as graphs:
  `graph_operators`, `proxies`, `expanded_operators`, `decompose*`
- memory and lists: `memory`, `writes`, `lists`, `list_*`, `copied_items`; sizes: `symbolic_sizes`, `size_rules`,
  `fitting`, `repeated_operands`
- which gradients there are: `presence*`, `undefined_gradients`, `not_differentiable`; TorchScript's form:
  `graph_gradient`
- forwards: `tangents`, `operator_tangents`, `tangent_rules`, `transposed`
- in programs: `gradient_nodes`, `tangent_nodes`, `own_gradients`
"""
