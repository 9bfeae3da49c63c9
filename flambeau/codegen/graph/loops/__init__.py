"""Loops of whole graphs: counted ones emitted twice, `while`, several iterations at a time, and on several threads.

Where to look:

- `loops`, `counted_while`, `control`; what is looked at once for all iterations: `hoisted_*`; iterations that meet in
  memory: `meetings`, `neighbours`
- iterations side by side: `lanes*`, `asked_lanes`, `strided_loads`; on threads: `parallel_loops`, `teams`
- loops that are one instruction: `bit_counts`
"""
