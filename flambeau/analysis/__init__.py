"""What passes ask of graphs: effects, aliasing, liveness, shapes. Importing it gives graphs their text and pictures."""

from flambeau.analysis import graph_tools as graph_tools
