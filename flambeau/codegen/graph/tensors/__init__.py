"""Tensors in native code: views as arithmetic on addresses, elements, new tensors, and tensors that are written.

Where to look:

- `arrays`, `pointwise`, `element_indexes`; views: `axes`, `pieces`, `resized_views`
- new ones: `new_arrays`, `creation`, `tensor_literals`, `tensor_constants`, `copies`, `repeats`, `reordered`,
  `rearranging`, `memory_order`; written ones: `writes`, `index_put`, `scatter`, `part_writes`
- operators with loops of their own: `gather`, `picks`, `sorting`, `ordered_lines`, `distinct`, `running_folds`, `bags`,
  `picked_losses`, `packing`; those that a text or an enum chooses among: `choices`
"""
