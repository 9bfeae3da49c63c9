"""Running graphs: bytecode, the machine for it, and the slow evaluator that defines what is right."""
