"""The programs that are timed: `<kind>.py` is Flambeau's form, which PyTorch runs too; other files are the peers'."""
