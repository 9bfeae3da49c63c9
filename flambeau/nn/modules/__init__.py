"""What layers are made with, for layers of your own."""

from flambeau.nn.modules import utils

__all__ = ["utils"]
