"""The programs that are timed: `<kind>.py` is Flambeau's form, which PyTorch runs too; the other files are the peers' forms."""
