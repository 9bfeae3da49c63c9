"""Operators: importing this package declares them all.

Each module declares one group in the form of tables; `families` holds the constructors that derive everything else.
Where to look (`*` stands for several files):

- numbers one by one: `unary`, `arithmetic`, `compare`, `logic`, `derived_math`, `complex_numbers`, `conversions`,
  `special_functions`, `orthogonal_polynomials`, `activation`, `gates`
- folds: `reductions`, `extremes`, `spread`, `quantiles`, `statistics`, `scans`, `softmax`, `segments`; order:
  `sorting`, `searching`, `distinct`, `membership`; differences of neighbours: `neighbours`, `finite_differences`
- shapes: `views`, `orders`, `windows`, `splits`, `joining`, `rearranging`, `padding`, `number_views`, `copied_views`,
  `layout_changes`, `reshaped_sizes`
- elements named by tensors: `indexing`, `items`, `gathering`, `scattering`, `index_writes`, `masks`, `nonzero`,
  `embedding*`, `bag*`
- new tensors: `creation`, `ranges`, `triangles`, `random*`, `signal_windows`, `copies`
- products: `products`, `addmm`, `contractions`, `einsum`, `attention*`, the folder `linear_algebra`; transforms:
  `fourier`, `frequencies`, `spectrograms`
- layers: `convolution*`, `pooling*`, `unpooling`, `batch_norm*`, `normalization`, `recurrent*`, `resampling*`,
  `reading_between`, `grids`, `grid_places`, `packing`; losses: `loss`, `classification`, `margin_losses`, `distances`,
  `ctc*`; quantised ones: `fake_quantize`, the folder `quantized_tensors`
- gradients: the folder `derivatives`, operators of their own in `*_gradients` and `*_gradient`
- others in their place: `*expansions` in plans; on devices: `meta_*`, the folder `cuda_devices`
- mixed precision: `cast_policies`, `autocast_casts`; calls of operators on large arrays: `large`; on lists of tensors:
  `foreach`
- what programs ask of tensors: `queries`
- what users reach: `surface`, `packets`, `operator_namespaces`, `python_forms`, `older_forms`, `describe`,
  `call_examples`
- ints, floats, texts and lists of programs: the folder `language`
"""

from __future__ import annotations

from flambeau.ops import activation as _activation
from flambeau.ops import addmm as _addmm
from flambeau.ops import arithmetic as _arithmetic
from flambeau.ops import attention as _attention
from flambeau.ops import attention_layers as _attention_layers
from flambeau.ops import autocast_casts as _autocast_casts
from flambeau.ops import bag_expansions as _bag_expansions
from flambeau.ops import batch_norm as _batch_norm
from flambeau.ops import batch_norm_gradients as _batch_norm_gradients
from flambeau.ops import batch_norm_training as _batch_norm_training
from flambeau.ops import cast_policies as _cast_policies
from flambeau.ops import causal_softmax as _causal_softmax
from flambeau.ops import cell_expansions as _cell_expansions
from flambeau.ops import cell_gates as _cell_gates
from flambeau.ops import class_losses as _class_losses
from flambeau.ops import classification as _classification
from flambeau.ops import compare as _compare
from flambeau.ops import complex_numbers as _complex_numbers
from flambeau.ops import contraction_expansions as _contraction_expansions
from flambeau.ops import contractions as _contractions
from flambeau.ops import conversions as _conversions
from flambeau.ops import convolution as _convolution
from flambeau.ops import convolution_gradients as _convolution_gradients
from flambeau.ops import convolution_tbc as _convolution_tbc
from flambeau.ops import copied_views as _copied_views
from flambeau.ops import copies as _copies
from flambeau.ops import creation as _creation
from flambeau.ops import ctc as _ctc
from flambeau.ops import ctc_gradient as _ctc_gradient
from flambeau.ops import derived_math as _derived_math
from flambeau.ops import determinant_gradient as _determinant_gradient
from flambeau.ops import distance_gradients as _distance_gradients
from flambeau.ops import distances as _distances
from flambeau.ops import distinct as _distinct
from flambeau.ops import einsum as _einsum
from flambeau.ops import embedding as _embedding
from flambeau.ops import embedding_bags as _embedding_bags
from flambeau.ops import expansions as _expansions
from flambeau.ops import extremes as _extremes
from flambeau.ops import fake_quantize as _fake_quantize
from flambeau.ops import finite_differences as _finite_differences
from flambeau.ops import fold_expansions as _fold_expansions
from flambeau.ops import fourier as _fourier
from flambeau.ops import fourier_expansions as _fourier_expansions
from flambeau.ops import frequencies as _frequencies
from flambeau.ops import gates as _gates
from flambeau.ops import gathering as _gathering
from flambeau.ops import grid_places as _grid_places
from flambeau.ops import grids as _grids
from flambeau.ops import index_expansions as _index_expansions
from flambeau.ops import index_writes as _index_writes
from flambeau.ops import indexing as _indexing
from flambeau.ops import instance_norm_alone as _instance_norm_alone
from flambeau.ops import items as _items
from flambeau.ops import joining as _joining
from flambeau.ops import language as _language
from flambeau.ops import large as _large
from flambeau.ops import layer_norm_gradients as _layer_norm_gradients
from flambeau.ops import layout_changes as _layout_changes
from flambeau.ops import logic as _logic
from flambeau.ops import loss as _loss
from flambeau.ops import loss_expansions as _loss_expansions
from flambeau.ops import margin_losses as _margin_losses
from flambeau.ops import masks as _masks
from flambeau.ops import membership as _membership
from flambeau.ops import meta_rules as _meta_rules
from flambeau.ops import meta_windows as _meta_windows
from flambeau.ops import neighbours as _neighbours
from flambeau.ops import nonzero as _nonzero
from flambeau.ops import norm_expansions as _norm_expansions
from flambeau.ops import norm_order_expansions as _norm_order_expansions
from flambeau.ops import normalization as _normalization
from flambeau.ops import number_views as _number_views
from flambeau.ops import older_forms as _older_forms
from flambeau.ops import operator_namespaces as _operator_namespaces
from flambeau.ops import orders as _orders
from flambeau.ops import orthogonal_polynomials as _orthogonal_polynomials
from flambeau.ops import packing as _packing
from flambeau.ops import padding as _padding
from flambeau.ops import pooling as _pooling
from flambeau.ops import pooling_adaptive as _pooling_adaptive
from flambeau.ops import pooling_fractional as _pooling_fractional
from flambeau.ops import pooling_gradients as _pooling_gradients
from flambeau.ops import product_gradients as _product_gradients
from flambeau.ops import products as _products
from flambeau.ops import profiler as _profiler
from flambeau.ops import quantiles as _quantiles
from flambeau.ops import queries as _queries
from flambeau.ops import random as _random
from flambeau.ops import random_expansions as _random_expansions
from flambeau.ops import random_fill as _random_fill
from flambeau.ops import ranges as _ranges
from flambeau.ops import rearranging as _rearranging
from flambeau.ops import recorded_attention as _recorded_attention
from flambeau.ops import recurrent as _recurrent
from flambeau.ops import recurrent_cells as _recurrent_cells
from flambeau.ops import recurrent_expansions as _recurrent_expansions
from flambeau.ops import reductions as _reductions
from flambeau.ops import resampling as _resampling
from flambeau.ops import resampling_cubic as _resampling_cubic
from flambeau.ops import resampling_smooth as _resampling_smooth
from flambeau.ops import scans as _scans
from flambeau.ops import scattering as _scattering
from flambeau.ops import searching as _searching
from flambeau.ops import shape_expansions as _shape_expansions
from flambeau.ops import signal_windows as _signal_windows
from flambeau.ops import softmax as _softmax
from flambeau.ops import sorting as _sorting
from flambeau.ops import special_functions as _special_functions
from flambeau.ops import spectrograms as _spectrograms
from flambeau.ops import splits as _splits
from flambeau.ops import spread as _spread
from flambeau.ops import statistics as _statistics
from flambeau.ops import statistics_expansions as _statistics_expansions
from flambeau.ops import triangles as _triangles
from flambeau.ops import unary as _unary
from flambeau.ops import unpooling as _unpooling
from flambeau.ops import views as _views
from flambeau.ops import windows as _windows
from flambeau.ops.cuda_devices import cuda_creation as _cuda_creation
from flambeau.ops.cuda_devices import cuda_joins as _cuda_joins
from flambeau.ops.cuda_devices import cuda_losses as _cuda_losses
from flambeau.ops.cuda_devices import cuda_methods as _cuda_methods
from flambeau.ops.cuda_devices import cuda_products as _cuda_products
from flambeau.ops.cuda_devices import cuda_rules as _cuda_rules
from flambeau.ops.linear_algebra import linalg_decompositions as _linalg_decompositions
from flambeau.ops.linear_algebra import linalg_functions as _linalg_functions
from flambeau.ops.linear_algebra import linalg_ldl as _linalg_ldl
from flambeau.ops.linear_algebra import linalg_lu as _linalg_lu
from flambeau.ops.linear_algebra import linalg_norms as _linalg_norms
from flambeau.ops.linear_algebra import linalg_solving as _linalg_solving
from flambeau.ops.linear_algebra import linalg_spectra as _linalg_spectra
from flambeau.ops.quantized_tensors import quantized_arithmetic as _quantized_arithmetic
from flambeau.ops.quantized_tensors import quantized_convolutions as _quantized_convolutions
from flambeau.ops.quantized_tensors import quantized_dynamic as _quantized_dynamic
from flambeau.ops.quantized_tensors import quantized_kernels as _quantized_kernels
from flambeau.ops.quantized_tensors import quantized_layers as _quantized_layers
from flambeau.ops.quantized_tensors import quantized_norms as _quantized_norms
from flambeau.ops.quantized_tensors import quantized_packing as _quantized_packing
from flambeau.ops.quantized_tensors import quantized_recurrent as _quantized_recurrent
from flambeau.ops.quantized_tensors import quantized_rules as _quantized_rules
from flambeau.ops.quantized_tensors import quantized_values as _quantized_values

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted({*globals(), *_operator_namespaces.scopes()})


def __getattr__(name: str) -> _operator_namespaces.OperatorNamespace:
    """The operators of a namespace: `flambeau.ops.aten.relu` is `flambeau.relu`."""
    namespace = _operator_namespaces.find(name)
    if namespace is None:
        raise AttributeError(f"no operator is named {name}::...: declare one with flambeau.library.custom_op")
    globals()[name] = namespace
    return namespace
