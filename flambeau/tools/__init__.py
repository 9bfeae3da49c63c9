"""The command line and the generators: `python -m flambeau --help`."""
