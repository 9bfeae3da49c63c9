"""Fused groups in whole graphs: by the launches of their kernels, or in loops as code of the function itself.

Where to look: `groups`, `group_launches`, `group_runner`; `embedded`.
"""
