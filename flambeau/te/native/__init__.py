"""Loop nests as machine code: LLVM text written from statements, with the instructions of `codegen.llvm`."""
