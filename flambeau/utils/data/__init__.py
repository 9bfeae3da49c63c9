"""Data sets, and the batches that are made of them, by this process or by others.

>>> import flambeau
>>> from flambeau.utils.data import DataLoader, TensorDataset
>>> data = TensorDataset(flambeau.arange(5), flambeau.arange(5) * 10)
>>> [x.tolist() for x, y in DataLoader(data, batch_size=2)]
[[0, 1], [2, 3], [4]]
"""

from flambeau.util.import_paths import provide as _provide
from flambeau.utils.data.collating import default_collate, default_convert
from flambeau.utils.data.datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from flambeau.utils.data.loader import DataLoader
from flambeau.utils.data.samplers import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from flambeau.utils.data.worker import WorkerInfo, get_worker_info

__getattr__ = _provide(
    __name__,
    {
        "_utils": "",
        "_utils.collate": "default_collate default_convert",
        "_utils.worker": "WorkerInfo get_worker_info",
        "dataloader": "DataLoader default_collate default_convert get_worker_info",
        "dataset": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset random_split",
        "distributed": "DistributedSampler",
        "sampler": "BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
    },
)
"""The names under the paths of files that PyTorch's programs import them from."""

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
