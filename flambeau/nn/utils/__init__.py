"""What surrounds modules: parameters as one vector, batches of sequences of different lengths."""

from flambeau.nn.utils import parametrize, rnn
from flambeau.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "parametrize", "rnn", "vector_to_parameters"]
