"""A lattice Boltzmann grid on one device, and its kernels launched one by one."""

from __future__ import annotations

import numpy as np
from support.lbm_reference import Array

from wirespeed.host.core import core
from wirespeed.programs import lbm_math
from wirespeed.programs.lbm_math import PLACES, Fluid, Layers, LbmBlock, Wave
from wirespeed.rank.work_list import packed


class Device:
    """Memory and launches; kind: "host" or "emulated"."""

    def __init__(self, kind: str = "host") -> None:
        self.core = core()
        self.handle = self.core.open_device(kind, 0)
        self.memory = b"pageable" if kind == "host" else b"device"
        self.addresses: list[int] = []

    def close(self) -> None:
        for address in self.addresses:
            self.core.lib.ws_device_release(self.handle, self.memory, self._pointer(address))
        self.core.lib.ws_device_close(self.handle)

    def put(self, values: Array) -> int:
        """The address of a copy."""
        found = self.core.check(self.core.lib.ws_device_allocate(self.handle, self.memory, values.nbytes))
        address = int(self.core.ffi.cast("uintptr_t", found))
        self.addresses.append(address)
        self._copy(found, self.core.ffi.from_buffer(values), values.nbytes)
        return address

    def get(self, address: int, doubles: int) -> Array:
        values = np.empty(doubles)
        self._copy(self.core.ffi.from_buffer(values), self._pointer(address), values.nbytes)
        return values

    def copy(self, to: int, from_: int, doubles: int) -> None:
        self._copy(self._pointer(to), self._pointer(from_), 8 * doubles)

    def launch(self, kernel: str, *arguments: float) -> None:
        """By several blocks, where the device has more than one thread."""
        words = packed(self.core, arguments)
        call = self.core.lib.ws_device_launch
        self.core.check(call(self.handle, self.memory, kernel.encode(), 3, 64, words, len(arguments)))

    def _pointer(self, address: int) -> object:
        return self.core.ffi.cast("void *", address)

    def _copy(self, to: object, from_: object, size: int) -> None:
        self.core.check(self.core.lib.ws_device_copy(self.handle, to, from_, size))


class Grid:
    """The size of `start`. What nothing has written is no number.

    `halo`: what lies below and above is copied into rows of a halo before each step.
    """

    def __init__(self, device: Device, start: Wave | Layers, halo: bool = False) -> None:
        self.device, self.halo = device, halo
        self.block = LbmBlock(start.width, start.height, False)
        walls = lbm_math.WALL_BELOW | lbm_math.WALL_ABOVE if isinstance(start, Layers) else 0
        self.sides = lbm_math.ROWS_BELOW | lbm_math.ROWS_ABOVE if halo else walls
        self.fields = [device.put(np.full(self.block.doubles, np.nan)) for _ in range(2)]
        device.launch("ws_lbm_init", self.fields[0], *self.block.geometry, 0, 0, *start.initial)

    def steps(self, count: int, fluid: Fluid, gate: int = 0) -> None:
        for _ in range(count):
            for up in (True, False) if self.halo else ():
                for layer in self.block.layers(up):
                    to, origin = (self.fields[0] + 8 * place for place in (layer.halo, layer.own))
                    self.device.copy(to, origin, layer.doubles)
            geometry = (*self.block.geometry, self.sides)
            self.device.launch("ws_lbm_step", gate, 0, *self.fields, *geometry, *fluid.arguments)
            self.fields.reverse()

    def populations(self) -> Array:
        """The whole field [37, height, width], in the kernels' order."""
        nx, ny, pitch, plane, first = self.block.geometry
        rows = self.device.get(self.fields[0], self.block.doubles).reshape(-1, pitch // plane, plane)
        inner = rows[first // pitch :, :, first % pitch :][:ny, :, :nx]
        found: Array = inner.transpose(1, 0, 2)[list(PLACES)]
        return found

    def moments(self) -> Array:
        sites = self.block.nx * self.block.ny
        out = self.device.put(np.zeros(4 * sites))
        self.device.launch("ws_lbm_moments", self.fields[0], *self.block.geometry, out)
        return self.device.get(out, 4 * sites).reshape(4, self.block.ny, self.block.nx)
