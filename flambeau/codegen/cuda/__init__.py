"""Kernels for CUDA: loop nests mapped to blocks, warps and threads, as LLVM text for NVPTX, as PTX."""
