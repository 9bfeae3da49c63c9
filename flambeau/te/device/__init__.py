"""Loop nests on a CUDA device: loops bound to blocks and threads become thread-mapped kernels "
"(`codegen.cuda.mapped`)."""
