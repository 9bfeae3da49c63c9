"""TorchScript archives read: container, pickles, code. Nothing in a file is ever executed by Python or imported."""
