"""Layers over images as machine code that serves every size: convolutions and their gradients, pooling, norms.

Each kind of layer has its code, and a file `*launch*` that says how sizes and strides become the words that the code
reads. Where to look:

- convolutions of all channels: `sums`, `filters`, `tile`, `stages`, `copies`, `followed`; of 3x3: `winograd*`; of few
  places: `points`, `point_launches`; of each channel by itself: `channels`, `channel_rows`, `channel_launches`; of
  arrays a call at a time: `run`, `problem`, `launched_calls`
- gradients of weights: `slopes`, `slope_launch*`, `squares`
- pooling, interpolation and padding: `taps`, `taps_launches`, `window_rules`, `axes`, `lines`; the largest of windows:
  `largest*`, `windows`
- norms: of channels `channel_norms`, `norms`, `training_norms`, `norm_gradients`, `column_norms`; of groups
  `group_norm*`; of rows `row_norm*`
- what they share: `words`, `planes`, `vectors`, `masked_rows`, `rests`, `activations`, `scales`
"""
