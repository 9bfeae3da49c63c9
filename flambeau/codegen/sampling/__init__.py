"""Images read at the places of a grid, by machine code: one module for each dtype, whatever the sizes."""
