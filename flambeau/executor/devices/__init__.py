"""Plans for tensors on CUDA devices: fused groups launch kernels there, all else goes to what runs operators there.

Nothing of a CPU's native code takes part: no entry of machine code, no whole graphs, no regions.
"""
