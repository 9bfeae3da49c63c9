"""Programs of whole tensors: broadcasting, masks, folds, scans, lookups and writes, at every size from 0."""
