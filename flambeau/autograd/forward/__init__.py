"""Forward mode: tangents go with the values, by rules derived from the formulas of gradients."""
