"""NumPy in programs: its functions and arrays, and numbers of arrays with the dtypes that NumPy gives them."""
