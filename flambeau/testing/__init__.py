"""Tools for testing compilers and programs, ours and users'."""
