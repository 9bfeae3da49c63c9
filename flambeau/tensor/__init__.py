"""Strided data: storages, layouts, tensors, indexing, printing, bridges to NumPy and DLPack, and operator dispatch."""
