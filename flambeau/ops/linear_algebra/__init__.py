"""Linear algebra: decompositions, solutions, norms and spectra of matrices."""
