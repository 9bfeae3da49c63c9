"""The LLVM backend: loop nests to text, text to machine code, and the runtime parts written in IR.

Where to look (`*` stands for several files):

- text: `emitter` writes instructions, `builder*` and `checked_emitter` whole functions that are checked while they are
  written
- a kernel: `nest`, `memory`, `definitions`, `ops`, `arith_*`, `casts`, `pairs`, `half_precision`; functions of
  numbers: `vecmath_*`, `accuracy`
- its folds and ends: `reduce`, `running`, `stages`, `fold_pieces`, `rests`, `scatter`, `pack`, `seldom`, `pass_order`;
  functions of C and of late bodies: `lanes`, `late_functions`
- kernels that go over arrays as NumPy does: `loops`, `loop_rows`, `loop_words`
- text to an address: `engine`, `compiler`, `pass_runs`, `effort`, `llvm_switches`, `host`, `processor`; without LLVM:
  `loader`, `object_file`
- code on disk: `object_cache`, `emitted`, `arranged`, `shared_entries`
- calls from Python: `entry*`, `tensor_objects`, `c_interface`; of kernels: `abi`, `launch_*`, `recorded_launches`
- threads and memory: `pool`, `blocks`, `c_memory`
"""
