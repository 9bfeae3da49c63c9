"""Strided data: storages, layouts, tensors, indexing, printing, bridges to NumPy and DLPack, and operator dispatch.

Where to look (`*` stands for several files):

- a tensor: `tensor`, `protocol`, `size`, `gradient_state`, `methods`, `text_form`, `script_format`; its memory:
  `storage*`, `typed*`, `shared_memory`; without data, or on a device: `dataless`, `settled`, `array_library`
- sizes and strides: `layout`, `order_of_axes`, `size_arithmetic`; indexing: `index`, `quick_index`
- from and to Python, NumPy and others: `create`, `sequences`, `bridge`, `defaults`, `default_device`
- calls: `dispatch`, `call_keys`, `kernels`, `python_forms`; calls that come often: `repeated_kernels`,
  `remembered_views`, `unchanged_operands`
- who stands between a call and its kernel: `interceptors`, `modes`, `overrides`, `overridable`, `subclasses`,
  `subclass_methods`, `below`, `levels`; the tape: `recorder`, `grad_mode`; a tracer: `observer`; mixed precision:
  `autocast*`, `grad_scaler`
- random numbers: `random`, `mersenne_twister`, `random_draws`, `rejected_draws`, `device_draws`
- quantised tensors: `quantized`; methods that call Python for every element: `element_calls`
- names that PyTorch had: `older_calls`, `removed_calls`
"""
