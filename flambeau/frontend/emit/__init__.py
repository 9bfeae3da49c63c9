"""Emission: trees and scopes in, a graph out whose variables are loads and stores, with names and types resolved.

Where to look (`*` stands for several files):

- one function: `emission`, `graph_builder`, `function_scope`, `frames`, `flow`; what a program tells later:
  `type_variables`, `inference`
- statements: `simple_statements`, `control_flow`, `loop_iterations`, `with_statements`, `exceptions`, `refusals`
- targets: `assignment`, `item_targets`, `augmented`, `list_slices`, `part_targets`, `widening`
- expressions: `call_expressions`, `binary_operators`, `comparisons`, `conditions`, `comprehensions`,
  `container_displays`, `*subscripts`, `python_expressions`, `literal_arithmetic`
- which overload a call means: `schema_matching`, `implicit_conversions`; why it means none: `schema_mismatches`,
  `call_causes`, `wrong_results`
- types that depend on the way: `*refinement`, `*_of_arms`, `beginnings`, `unset_variables`, `fresh_containers`
- generators and tasks: `inlined`, `generator_lists`, `forked_tasks`; variables of two functions: `cells`
- what names mean, Python's functions, NumPy's: the folders `values`, `builtins`, `numpy`
"""
