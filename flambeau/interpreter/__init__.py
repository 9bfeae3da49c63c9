"""Floor 5: running graphs: bytecode, the machine that executes it, and the slow evaluator that defines what is right."""
