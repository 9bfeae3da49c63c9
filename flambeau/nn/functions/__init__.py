"""What `nn.functional` has beside the operators declared for it."""
