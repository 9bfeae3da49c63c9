"""Programs and tensors as files that TorchScript's own loader reads too."""
