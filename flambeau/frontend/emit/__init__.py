"""From trees to nodes of a graph, one rule a kind of tree."""
