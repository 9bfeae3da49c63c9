"""Scaled dot-product attention as machine code that never has all scores in memory (Dao et al., 2022: FlashAttention).

Keys are taken block by block; each query keeps the largest score so far and the sum of powers relative to it (Milakov
and Gimelshein, 2018: online softmax), and what it has summed is scaled down when a larger score comes. Code depends on
the dtype, the kind of mask and the processor, on sizes never.
"""
