"""Parts of Python's standard library that programs have: written in the scripted language, compiled for each use."""
