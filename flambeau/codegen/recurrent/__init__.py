"""Recurrent layers as machine code: all steps of a layer in one native loop, there and back.

Weights are packed into panels once a call; a step is one product with a panel whose sums stay in registers until the
arithmetic of the gates is done. Code depends on the kind of cell, the dtype and the processor, on sizes never.
"""
