"""Floor 5: running graphs: bytecode, the machine for it, and the slow evaluator that defines what is right."""
