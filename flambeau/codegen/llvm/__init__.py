"""The LLVM backend: loop nests to text, text to machine code, and the runtime parts written in IR."""
