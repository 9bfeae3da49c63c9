"""Transformations of graphs, one verb a file: `do(graph)` changes the graph in place and says whether it did."""
