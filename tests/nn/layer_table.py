"""Layers with inputs: the constructor, the inputs, and `eval` or `untraced`.

An input is its sizes; `i5:` are integers below 5, `p2:` places in a channel of two dimensions, `u:` numbers between 0
and 1, `s:` signs, others are normal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LAYERS = """
nn.Linear(4, 3) | 2,4
nn.Linear(4, 3, bias=False) | 2,5,4
nn.Bilinear(3, 4, 2) | 5,3 ; 5,4
nn.Identity() | 2,3
nn.ReLU() | 2,3
nn.ReLU(inplace=True) | 2,3
nn.ReLU6() | 2,3
nn.SELU() | 2,3
nn.SiLU() | 2,3
nn.Mish() | 2,3
nn.Hardswish() | 2,3
nn.Hardsigmoid() | 2,3
nn.Sigmoid() | 2,3
nn.Tanh() | 2,3
nn.LogSigmoid() | 2,3
nn.Softsign() | 2,3
nn.Tanhshrink() | 2,3
nn.GELU() | 2,3
nn.GELU('tanh') | 2,3
nn.ELU(0.5) | 2,3
nn.CELU(0.5, inplace=True) | 2,3
nn.LeakyReLU(0.2) | 2,3
nn.RReLU() | 2,3 | eval
nn.Threshold(0.1, 20.0) | 2,3
nn.Softplus(2.0, 10.0) | 2,3
nn.Hardshrink() | 2,3
nn.Softshrink() | 2,3
nn.Hardtanh(-2.0, 2.0) | 2,3
nn.GLU() | 2,4
nn.Softmax(dim=1) | 2,3
nn.LogSoftmax(dim=-1) | 2,3
nn.Softmin(dim=0) | 2,3
nn.Softmax2d() | 2,3,2,2
nn.PReLU(3) | 2,3
nn.Conv1d(4, 6, 3, padding=1) | 2,4,7
nn.Conv1d(4, 6, 3, padding='same', padding_mode='circular') | 2,4,7
nn.Conv2d(4, 6, 3) | 2,4,5,6
nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=1, groups=2, bias=False) | 2,4,5,6
nn.Conv2d(2, 3, 3, padding='same', dilation=2) | 2,2,5,6
nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect') | 2,2,5,6
nn.Conv2d(2, 3, 3, padding=1) | 2,5,6
nn.Conv3d(2, 3, 2) | 1,2,3,4,5
nn.ConvTranspose1d(3, 2, 3, stride=2) | 2,3,5
nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1) | 2,3,4,5
nn.ConvTranspose3d(3, 2, 2) | 1,3,2,3,4
nn.ConvTranspose2d(3, 2, 2) | 0,3,3,4
nn.MaxPool1d(2) | 2,3,6
nn.MaxPool2d(2, stride=1, padding=1) | 2,3,5,6
nn.MaxPool2d((2, 3), return_indices=True) | 2,3,5,6
nn.MaxPool3d(2, ceil_mode=True) | 1,2,3,4,5
nn.AvgPool1d(2, 1) | 2,3,6
nn.AvgPool2d(2, padding=1, count_include_pad=False) | 2,3,5,6
nn.AvgPool3d(2) | 1,2,3,4,5
nn.LPPool1d(2.0, 3) | 2,3,6
nn.LPPool2d(2.0, (2, 1), stride=1) | 2,3,5,6
nn.LPPool3d(2.0, 2) | 1,2,4,4,4
nn.AdaptiveAvgPool1d(3) | 2,3,7
nn.AdaptiveAvgPool2d((None, 2)) | 2,3,5,6
nn.AdaptiveAvgPool2d(1) | 2,3,5,6
nn.AdaptiveAvgPool3d((2, None, 1)) | 1,2,3,4,5
nn.AdaptiveMaxPool1d(3) | 2,3,7
nn.AdaptiveMaxPool2d((3, 2), return_indices=True) | 2,3,5,6
nn.AdaptiveMaxPool3d(2) | 1,2,3,4,5
nn.BatchNorm1d(3) | 4,3
nn.BatchNorm1d(3) | 4,3,5 | eval
nn.BatchNorm2d(3) | 2,3,4,5
nn.BatchNorm2d(3) | 2,3,4,5 | eval
nn.BatchNorm2d(3, momentum=None, affine=False) | 2,3,4,5 | untraced
nn.BatchNorm2d(3, track_running_stats=False) | 2,3,4,5 | eval
nn.BatchNorm3d(2) | 2,2,2,3,4
nn.InstanceNorm1d(3) | 2,3,5
nn.InstanceNorm2d(3, affine=True, track_running_stats=True) | 2,3,4,5
nn.InstanceNorm2d(3, affine=True, track_running_stats=True) | 2,3,4,5 | eval
nn.InstanceNorm2d(3) | 3,4,5
nn.InstanceNorm3d(2) | 2,2,2,3,4
nn.LayerNorm(5) | 2,3,5
nn.LayerNorm((3, 5), elementwise_affine=False) | 2,3,5
nn.LayerNorm([3, 5], bias=False) | 2,3,5
nn.RMSNorm(5) | 2,3,5
nn.GroupNorm(2, 4) | 2,4,5
nn.LocalResponseNorm(3) | 2,4,5,5
nn.CrossMapLRN2d(3, alpha=0.5) | 2,7,3,2
nn.CrossMapLRN2d(4, alpha=0.5, beta=0.5, k=2.0) | 2,7,3,2
nn.CrossMapLRN2d(5, alpha=0.5) | 2,3,3,2
nn.Flatten() | 2,3,4
nn.Flatten(0, 1) | 2,3,4
nn.Unflatten(1, (2, 3)) | 2,6,4
nn.Unfold(2, padding=1) | 2,3,4,5
nn.Fold((4, 5), (2, 2)) | 2,12,12
nn.PixelShuffle(2) | 2,8,3,4
nn.PixelUnshuffle(2) | 2,2,4,6
nn.ChannelShuffle(2) | 2,4,3,3
nn.Upsample(scale_factor=2) | 2,3,4,5
nn.Upsample(scale_factor=(2, 3), mode='bilinear', align_corners=True) | 2,3,4,5
nn.Upsample(size=(7, 6), mode='bicubic') | 2,3,4,5
nn.Upsample(size=9, mode='linear') | 2,3,4
nn.Upsample(scale_factor=1.3, mode='linear') | 2,3,3
nn.Upsample(scale_factor=2, mode='trilinear') | 1,2,3,2,2
nn.UpsamplingNearest2d(scale_factor=2) | 2,3,4,5
nn.UpsamplingBilinear2d(size=(6, 7)) | 2,3,4,5
nn.CosineSimilarity() | 2,3,4 ; 2,3,4
nn.PairwiseDistance(p=1) | 2,3 ; 2,3
nn.ConstantPad1d(2, 3.5) | 2,3,4
nn.ConstantPad2d((1, 2, 0, 1), 0.5) | 2,3,4,5
nn.ConstantPad3d(1, 1.0) | 1,2,2,3,4
nn.ZeroPad1d(1) | 2,3,4
nn.ZeroPad2d((1, 0, 2, 1)) | 2,3,4,5
nn.ZeroPad3d(1) | 1,2,2,3,4
nn.ReflectionPad1d(2) | 2,3,4
nn.ReflectionPad2d((1, 2, 0, 1)) | 2,3,4,5
nn.ReflectionPad3d(1) | 1,2,2,3,4
nn.ReplicationPad1d(2) | 2,3,4
nn.ReplicationPad2d(2) | 2,3,4,5
nn.ReplicationPad3d((1, 0, 1, 2, 0, 1)) | 1,2,2,3,4
nn.CircularPad1d(2) | 2,3,4
nn.CircularPad2d((1, 2, 0, 1)) | 2,3,4,5
nn.CircularPad3d(1) | 1,2,2,3,4
nn.Dropout(0.3) | 2,3 | eval
nn.Dropout1d() | 2,3,4 | eval
nn.Dropout2d() | 2,3,4,4 | eval
nn.Dropout3d() | 1,2,3,4,4 | eval
nn.AlphaDropout() | 2,3 | eval
nn.FeatureAlphaDropout() | 2,3,4,4 | eval
nn.Embedding(10, 3) | i10:2,4
nn.Embedding(10, 3, padding_idx=-1) | i10:5
nn.Embedding(10, 3, max_norm=0.5) | i10:5
nn.EmbeddingBag(10, 3) | i10:2,4
nn.EmbeddingBag(10, 3, mode='sum', padding_idx=2) | i10:2,4
nn.EmbeddingBag(10, 3, mode='max') | i10:2,4
nn.L1Loss() | 3,4 ; 3,4
nn.MSELoss(reduction='sum') | 3,4 ; 3,4
nn.SmoothL1Loss(beta=0.5) | 3,4 ; 3,4
nn.HuberLoss(reduction='none', delta=0.5) | 3,4 ; 3,4
nn.NLLLoss() | 3,4 ; i4:3
nn.NLLLoss(ignore_index=1, reduction='sum') | 3,4,5 ; i4:3,5
nn.CrossEntropyLoss(label_smoothing=0.1) | 3,4 ; i4:3
nn.CrossEntropyLoss(ignore_index=0) | 3,4 ; i4:3
nn.BCELoss() | u:3,4 ; u:3,4
nn.BCEWithLogitsLoss() | 3,4 ; u:3,4
nn.KLDivLoss(reduction='batchmean') | 3,4 ; u:3,4
nn.PoissonNLLLoss(full=True) | 3,4 ; u:3,4
nn.GaussianNLLLoss() | 3,4 ; 3,4 ; u:3,4
nn.SoftMarginLoss() | 3,4 ; s:3,4
nn.HingeEmbeddingLoss(0.5) | 3,4 ; s:3,4
nn.MarginRankingLoss(0.1) | 3,4 ; 3,4 ; s:3,4
nn.CosineEmbeddingLoss() | 3,4 ; 3,4 ; s:3
nn.MultiLabelSoftMarginLoss() | 3,4 ; u:3,4
nn.MultiLabelMarginLoss() | 3,4 ; i4:3,4
nn.MultiMarginLoss(p=2, margin=0.5) | 3,4 ; i4:3
nn.TripletMarginLoss(swap=True) | 3,4 ; 3,4 ; 3,4
nn.TripletMarginWithDistanceLoss(swap=True, margin=0.5) | 3,4 ; 3,4 ; 3,4
nn.AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], 2.0, head_bias=True) | 3,4 ; i9:3
nn.LinearCrossEntropyLoss(4, 5, bias=True, out_features=(2,)) | 3,4 ; i5:3,2
nn.SyncBatchNorm(3) | 4,3,2
nn.MaxUnpool1d(2) | 2,3,4 ; p1:2,3,4
nn.MaxUnpool2d((2, 3), stride=2) | 2,3,4 ; p2:2,3,4
nn.MaxUnpool3d(2) | 1,2,2,2,2 ; p3:1,2,2,2,2
nn.RNNCell(3, 4) | 2,3
nn.RNNCell(3, 4, bias=False, nonlinearity='relu') | 2,3 ; 2,4
nn.GRUCell(3, 4) | 2,3 ; 2,4
nn.GRUCell(3, 4) | 3
nn.LSTMCell(3, 4) | 2,3
nn.LSTM(3, 4) | 5,2,3
nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True) | 2,5,3
nn.LSTM(3, 4, bias=False, proj_size=2) | 5,2,3
nn.LSTM(3, 4) | 5,3
nn.GRU(3, 4, 2, bidirectional=True) | 5,2,3 ; 4,2,4
nn.GRU(3, 4, bias=False, batch_first=True) | 2,5,3
nn.RNN(3, 4) | 5,2,3
nn.RNN(3, 4, 2, nonlinearity='relu', dropout=0.5) | 5,2,3 | eval
nn.MultiheadAttention(8, 2) | 5,2,8 ; 4,2,8 ; 4,2,8
nn.MultiheadAttention(8, 2, batch_first=True, bias=False) | 2,5,8 ; 2,4,8 ; 2,4,8
nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True) | 5,2,8 ; 4,2,3 ; 4,2,5
nn.MultiheadAttention(8, 4) | 5,8 ; 4,8 ; 4,8
nn.TransformerEncoderLayer(8, 2, 16, 0.0) | 5,2,8
nn.TransformerEncoderLayer(8, 2, 16, activation='gelu', norm_first=True, batch_first=True, bias=False) | 2,5,8 | eval
nn.TransformerDecoderLayer(8, 2, 16, 0.0) | 5,2,8 ; 4,2,8
nn.TransformerDecoderLayer(8, 2, 16, norm_first=True) | 5,2,8 ; 4,2,8 | eval
nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False) | 5,2,8 | eval
nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 1, nn.LayerNorm(8), enable_nested_tensor=False) | 5,2,8
nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2) | 5,2,8 ; 4,2,8 | eval
nn.Transformer(8, 2, 1, 2, 16) | 5,2,8 ; 4,2,8 | eval
"""


def rows() -> list[tuple[str, list[str], str]]:
    """Constructor, inputs, remark."""
    found = []
    for line in LAYERS.strip().splitlines():
        make, inputs, *remark = (cell.strip() for cell in line.split("|"))
        found.append((make, [i.strip() for i in inputs.split(";")], remark[0] if remark else ""))
    return found


def draw(inputs: list[str], dtype: Any) -> list[np.ndarray]:
    """The arrays that a row asks for."""
    arrays = []
    for number, text in enumerate(inputs):
        rng = np.random.default_rng(3 + number)
        kind, _, sizes = text.rpartition(":")
        shape = tuple(map(int, sizes.split(",")))
        if kind.startswith("p"):
            dims = int(kind[1:])
            places = np.arange(np.prod(shape[-dims:])).reshape(shape[-dims:]) * 2**dims
            arrays.append(np.broadcast_to(places, shape).copy())
        elif kind.startswith("i"):
            arrays.append(rng.integers(0, int(kind[1:]), shape))
        elif kind == "u":
            arrays.append(rng.uniform(0.05, 0.95, shape).astype(dtype))
        else:
            normal = rng.standard_normal(shape).astype(dtype)
            arrays.append(np.sign(normal) if kind == "s" else normal)
    return arrays
