"""Programs with published answers, written as a user would. Each file stands alone: `python -m examples.nbody`."""
