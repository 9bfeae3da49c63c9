"""What stands for CuPy where there is no card: as strict as CuPy, with everything but the hardware.

Memory of the devices has two addresses. Tensors and kernels know the one, which nobody can read, so that code that
takes it for the host's crashes; the double itself reads and writes through the other.
"""
