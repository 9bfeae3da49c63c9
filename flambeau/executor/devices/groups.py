"""A fused group on a device: one launch where its tensors lie on one device, operator after operator elsewhere.

The group's operators define its meaning, as they do on the host: what a kernel refuses they compute, or refuse
themselves, each at its own place in the program.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.backends.cuda import sums
from flambeau.codegen import available
from flambeau.codegen.cuda.bound_program import Layout
from flambeau.codegen.cuda.runtime import CudaKernel
from flambeau.codegen.cuda.schedule import ACCESS_BYTES
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.lower import lower_graph
from flambeau.cuda import library
from flambeau.cuda.numbers import number_on_device
from flambeau.executor.devices.device_code import on_devices
from flambeau.executor.devices.found_errors import GroupErrors
from flambeau.executor.devices.launches import GroupLaunch
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph
from flambeau.passes.fusible import CHANGES
from flambeau.schema.device import Device
from flambeau.specialise.cache import SpecialisationCache
from flambeau.specialise.spec import Spec, describe, refine, spec_of
from flambeau.tensor.tensor import Tensor
from flambeau.util import log
from flambeau.util.array_address import address_of
from flambeau.util.record import dataclass

MAX_KERNELS: Final = 16
MAX_LAUNCHES: Final = 256
NO_COMPILER: Final = "llvmlite is not installed"
ON_HOST: Final = "its tensors are on the host"
SEVERAL_DEVICES: Final = "its tensors are on several devices"
A_NUMBER: Final = "it is given a tensor that stands for a number"


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer that there is no kernel, and why."""

    reason: str


class DeviceGroup:
    """What a fused group's node calls with its inputs; gives one result, or a tuple of several."""

    def __init__(self, name: str, graph: Graph) -> None:
        self.name, self.graph = name, graph
        self._several = len(graph.returns) > 1
        self.kernels_cache: SpecialisationCache[Spec, CudaKernel | Refused] = SpecialisationCache(
            f"device kernels of {name}", MAX_KERNELS, describe=describe
        )
        self.launches_cache: SpecialisationCache[Hashable, GroupLaunch | Refused] = SpecialisationCache(
            f"device launches of {name}", MAX_LAUNCHES, describe=str
        )
        self.calls = 0
        self.milliseconds = 0.0
        """Spent on kernels."""
        self.refusal = ""
        """Why the newest kind of inputs has no kernel; empty where it has one."""
        self.state = "not called yet"
        self._code: Code | None = None
        self.errors = GroupErrors(name, graph)
        self._adds = any(n.definition is not None and n.definition.accumulator in CHANGES for n in graph.nodes())

    @property
    def code(self) -> Code:
        """The group as bytecode."""
        if self._code is None:
            self._code = on_devices(compile_graph(self.graph, self.name))
        return self._code

    @property
    def newest_launch(self) -> GroupLaunch | None:
        """The launch that was made last."""
        launches = [x for x in self.launches_cache.values if isinstance(x, GroupLaunch)]
        return launches[-1] if launches else None

    def __call__(self, *inputs: Any) -> Any:
        """The result of the operators."""
        self.calls += 1
        results = self.on_device(inputs)
        if results is None:
            return self.by_operators(inputs)
        return tuple(results) if self._several else results[0]

    def by_operators(self, inputs: Sequence[Any]) -> Any:
        """The results, computed an operator at a time."""
        results = run(self.code, inputs)
        return results if self._several else results[0]

    def on_device(self, inputs: Sequence[Any]) -> list[Tensor] | None:
        """The results by a kernel; None where there is none for such inputs."""
        launch = self.launch_for(inputs)
        if launch is None:
            return None
        operands = on_one_device(inputs, launch.device, launch.dtypes)
        return launch(operands, self.errors.here()) if launch.may_fail else launch(operands)

    def launch_for(self, inputs: Sequence[Any]) -> GroupLaunch | None:
        """What launches the kernels for inputs that lie like these; None where there are none."""
        key: Hashable = tuple(map(_kind, inputs))
        if self._adds:
            key = key, sums.deterministic
        launch = self.launches_cache.get(key)
        if launch is None:
            launch = self.launches_cache.get_or_make(key, lambda cause: self._new_launch(inputs))
        return None if isinstance(launch, Refused) else launch

    def _new_launch(self, inputs: Sequence[Any]) -> GroupLaunch | Refused:
        start = time.perf_counter()
        launch = self._launch_for(inputs)
        self.milliseconds += (time.perf_counter() - start) * 1e3
        self.refusal = launch.reason if isinstance(launch, Refused) else ""
        self.state = f"operator by operator: {self.refusal}" if self.refusal else "native"
        if self.refusal and log.level("codegen"):
            log.write("codegen", f"{self.name} runs {self.state}")
        return launch

    def _launch_for(self, inputs: Sequence[Any]) -> GroupLaunch | Refused:
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        devices = {x.device for x in tensors if x.device.type == "cuda"}
        if not available():
            return Refused(NO_COMPILER)
        if len(devices) != 1:
            return Refused(SEVERAL_DEVICES if devices else ON_HOST)
        if any(x.device.type != "cuda" and x.ndim for x in tensors):
            return Refused(SEVERAL_DEVICES)
        if any(x.is_wrapped_number for x in tensors):
            return Refused(A_NUMBER)
        spec = spec_of(inputs)
        kernel = self.kernels_cache.get_or_make(spec, lambda cause: self._kernel_for(inputs))
        if isinstance(kernel, Refused):
            return kernel
        try:
            return GroupLaunch(kernel, [_layout(x) for x in inputs], devices.pop())
        except KernelError as reason:
            return Refused(str(reason))

    def _kernel_for(self, inputs: Sequence[Any]) -> CudaKernel | Refused:
        types = [refine(v.static_type, x) for v, x in zip(self.graph.parameters, inputs, strict=True)]
        try:
            lowered = lower_graph(self.graph, types, name=self.name)
        except KernelError as reason:
            return Refused(str(reason))
        return CudaKernel(lowered.kernel, lowered.spans, cupy=library.cupy())


def _kind(value: Any) -> Any:
    """What of an input decides about its launch."""
    if isinstance(value, Tensor):
        array = value._array
        if getattr(type(value), "_is_on_device", False):
            is_aligned = not address_of(array) % ACCESS_BYTES
            return array.dtype, array.shape, array.strides, value._storage.device.index, is_aligned
        return array.dtype, array.shape, value.is_wrapped_number
    return type(value)


def _layout(value: Any) -> Layout:
    """How an input lies in memory; numbers, and tensors of the host that hold one, are put there."""
    is_there = isinstance(value, Tensor) and value.device.type == "cuda"
    return Layout.of(value._array) if is_there else Layout((), ())


def on_one_device(inputs: Sequence[Any], device: Device, dtypes: Sequence[np.dtype[Any]]) -> list[Tensor]:
    """The inputs, with numbers of the host on the device."""
    return [
        x if getattr(type(x), "_is_on_device", False) else number_on_device(_number(x), dtype, device)
        for x, dtype in zip(inputs, dtypes, strict=True)
    ]


def _number(value: Any) -> Any:
    return value._array.item() if isinstance(value, Tensor) else value
