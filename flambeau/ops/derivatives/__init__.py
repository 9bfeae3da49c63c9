"""Derivatives: formulas of pointwise operators from their meaning per element, those of all others by kind."""

from __future__ import annotations

from flambeau.ops.derivatives import alignment_formulas as _alignment
from flambeau.ops.derivatives import array_gradients as _arrays
from flambeau.ops.derivatives import attention_formulas as _attention
from flambeau.ops.derivatives import bag_formulas as _bag
from flambeau.ops.derivatives import distance_formulas as _distance
from flambeau.ops.derivatives import dropout_formulas as _dropout
from flambeau.ops.derivatives import exceptions as _exceptions
from flambeau.ops.derivatives import factor_formulas as _factor
from flambeau.ops.derivatives import folded_write_formulas as _folded_write
from flambeau.ops.derivatives import fourier_formulas as _fourier
from flambeau.ops.derivatives import gamma_sample_formulas as _gamma_sample
from flambeau.ops.derivatives import indexing_formulas as _indexing
from flambeau.ops.derivatives import linear_algebra_formulas as _linear_algebra
from flambeau.ops.derivatives import loss_formulas as _loss
from flambeau.ops.derivatives import network_formulas as _network
from flambeau.ops.derivatives import norm_formulas as _norm
from flambeau.ops.derivatives import product_formulas as _product
from flambeau.ops.derivatives import quantisation_formulas as _quantisation
from flambeau.ops.derivatives import reduction_formulas as _reduction
from flambeau.ops.derivatives import resampling_formulas as _resampling
from flambeau.ops.derivatives import sampling_formulas as _sampling
from flambeau.ops.derivatives import special_formulas as _special
from flambeau.ops.derivatives import spectral_formulas as _spectral
from flambeau.ops.derivatives import spectrogram_formulas as _spectrogram
from flambeau.ops.derivatives import statistics_formulas as _statistics
from flambeau.ops.derivatives import view_formulas as _view
from flambeau.ops.derivatives import window_formulas as _window
