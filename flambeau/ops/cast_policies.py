"""The cast policies of operators: what computes in the dtype of `autocast`, in float32, or in the widest dtype given.

Each kind of device has its own lists, for what is fast and what is exact differs between them. An operator that is in
no list computes in the dtype of its operands, so that a chain behind a product stays in the product's dtype.
"""

from __future__ import annotations

from flambeau.schema.cast_policies import CastPolicy, declare_policy

CPU, CUDA, BOTH = ("cpu",), ("cuda",), ("cpu", "cuda")


def _declare(policy: CastPolicy, device_types: tuple[str, ...], names: str) -> None:
    declare_policy(policy, device_types, *(f"aten::{name}" for name in names.split()))


_declare(
    CastPolicy.LOWER, BOTH,
    "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d mm bmm addmm baddbmm addbmm "
    "matmul linear einsum tensordot inner chain_matmul linalg_multi_dot linalg_vecdot prelu "
    "scaled_dot_product_attention",
)  # fmt: skip
_declare(CastPolicy.LOWER, CPU, "_native_multi_head_attention lstm")
_declare(CastPolicy.LOWER, CUDA, "_convolution mv addmv addr lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell")
_declare(CastPolicy.PARTS, CPU, "lstm.data lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell")
_declare(CastPolicy.PARTS, BOTH, "gru rnn_tanh rnn_relu")
_declare(CastPolicy.PARTS, CUDA, "lstm")

_declare(
    CastPolicy.FULL, BOTH,
    "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss hinge_embedding_loss margin_ranking_loss "
    "cosine_embedding_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss kl_div poisson_nll_loss "
    "nll_loss nll_loss2d binary_cross_entropy_with_logits ctc_loss cdist",
)  # fmt: skip
_declare(
    CastPolicy.FULL, CPU,
    "nll_loss_nd cross_entropy_loss binary_cross_entropy multilabel_margin_loss_forward trace view_as_complex polar "
    "prod quantile nanquantile stft grid_sampler grid_sampler_2d grid_sampler_3d fake_quantize_per_tensor_affine "
    "avg_pool3d adaptive_avg_pool3d max_pool3d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d "
    "max_unpool2d max_unpool3d reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d "
    "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_fftn fft_ifftn "
    "fft_rfftn fft_irfftn",
)  # fmt: skip
_declare(
    CastPolicy.FULL, CPU,
    "cholesky cholesky_inverse cholesky_solve inverse pinverse lu_solve _lu_with_info triangular_solve orgqr ormqr "
    "geqrf qr svd linalg_cholesky linalg_cholesky_ex linalg_qr linalg_householder_product linalg_cond "
    "linalg_matrix_rank linalg_inv linalg_inv_ex linalg_solve linalg_lstsq linalg_tensorinv linalg_tensorsolve "
    "linalg_eig linalg_eigvals linalg_eigh linalg_eigvalsh linalg_svd linalg_svdvals",
)  # fmt: skip
_declare(
    CastPolicy.FULL, CUDA,
    "acos asin cosh sinh tan erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt pow softplus layer_norm "
    "native_layer_norm group_norm frobenius_norm nuclear_norm norm cosine_similarity pdist renorm logsumexp dist",
)  # fmt: skip
_declare(
    CastPolicy.FULL_UNLESS_DTYPE_GIVEN, CUDA,
    "prod sum cumsum cumprod softmax log_softmax linalg_vector_norm linalg_matrix_norm",
)  # fmt: skip
_declare(CastPolicy.WIDEST, BOTH, "cat concat concatenate stack hstack vstack dstack row_stack column_stack index_copy")
_declare(
    CastPolicy.WIDEST, CUDA,
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put scatter_add",
)  # fmt: skip
_declare(CastPolicy.REFUSED, CUDA, "binary_cross_entropy")
