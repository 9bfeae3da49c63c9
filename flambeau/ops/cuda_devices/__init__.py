"""Operators on tensors of CUDA devices: who computes a call, and the operators that look at memory themselves."""
