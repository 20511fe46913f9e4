"""Handles of the core, as types: what they point to is the core's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wirespeed.host.interface import BuffersHandle as BuffersHandle
    from wirespeed.host.interface import ControlHandle as ControlHandle
    from wirespeed.host.interface import DeviceHandle as DeviceHandle
    from wirespeed.host.interface import Library as Library
    from wirespeed.host.interface import ProgramHandle as ProgramHandle
    from wirespeed.host.interface import SoakHandle as SoakHandle
    from wirespeed.host.interface import TransportHandle as TransportHandle
else:
    # cffi's module takes its time to load, and only the core opens it.
    BuffersHandle = ControlHandle = DeviceHandle = Library = object
    ProgramHandle = SoakHandle = TransportHandle = object
