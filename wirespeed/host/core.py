"""The measuring core: the shared library beside this file, opened with cffi."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.host.interface import DeviceHandle, Library, Text

LIBRARY_NAME = "libwirespeed.so"
Result = TypeVar("Result")


class NativeError(Exception):
    """A call of the core failed; the text names the library call, its arguments and its error message."""

    def __init__(self, text: str, lack: bool = False) -> None:
        super().__init__(text)
        self.lack = lack
        """True: the machine lacks something; False: something went wrong."""


def _library() -> Path:
    place = Path(os.environ.get("WIRESPEED_LIBRARY") or Path(__file__).parents[1] / LIBRARY_NAME)
    if not place.exists():
        raise WirespeedError(
            f"the measuring core is not built: {place} is missing; run 'pip install .' in the source tree",
            ExitCode.UNAVAILABLE,
        )
    return place


class Core:
    """The C interface of native/wirespeed.h and wirespeed_test.h with failures turned into NativeError."""

    def __init__(self) -> None:
        from wirespeed.host.interface import ffi

        self.ffi: Any = ffi
        # Never unloaded: the watchdog's thread runs in it to the process's very end.
        self.lib: Library = self.ffi.dlopen(str(_library()), os.RTLD_NOW | os.RTLD_NODELETE)
        self._raised: BaseException | None = None

    def find_libraries(self) -> None:
        """Tells the core where the libraries lie that pip installed or the user named."""
        from wirespeed.host.libraries import known_libraries

        for name, path in known_libraries().items():
            self.lib.ws_library_path(name.encode(), str(path).encode())

    def compile_apart(self) -> None:
        """From now on compilers that may end their process get one of their own (kernel_compiler.py)."""
        words = [sys.executable, str(Path(__file__).with_name("kernel_compiler.py"))]
        given = [self.ffi.new("char[]", word.encode()) for word in words]
        self.lib.ws_kernel_compiler(self.ffi.new("char *[]", [*given, self.ffi.NULL]))

    def text(self, pointer: Text) -> str:
        return str(self.ffi.string(pointer).decode(errors="replace"))

    def described(self, pointer: Text) -> dict[str, Any]:
        """The description of a transport or a program, from its JSON."""
        found: dict[str, Any] = json.loads(self.text(self.check(pointer)))
        return found

    def check(self, result: Result) -> Result:
        """Passes a result through; raises NativeError for -1 and null, and what interrupted a callback."""
        raised, self._raised = self._raised, None
        if isinstance(raised, (WirespeedError, NativeError)) or (
            raised and not isinstance(raised, Exception)
        ):
            # These say so in words of their own: what is lost, or what all ranks have agreed has failed.
            raise raised
        if result == -1 or result == self.ffi.NULL:
            raise NativeError(self.text(self.lib.ws_error()), bool(self.lib.ws_error_is_lack())) from raised
        return result

    def callback(self, declaration: str) -> Callable[[Callable[..., int]], Any]:
        """Lets the core call a function that returns 0; where it raises, the core's call fails.

        No exception can cross the core: what is raised, a KeyboardInterrupt too, is kept for check().
        """

        def keep(_: object, raised: BaseException, __: object) -> None:
            self._raised = raised

        made: Callable[[Callable[..., int]], Any] = self.ffi.callback(declaration, error=-1, onerror=keep)
        return made

    def device_count(self, kind: str) -> int:
        """Number of devices of a kind. Raises NativeError that says why none can be used."""
        return int(self.check(self.lib.ws_device_count(kind.encode())))

    def open_device(
        self, kind: str, index: int, allocator: str = "driver", own_context: bool = False
    ) -> DeviceHandle:
        """A device whose buffers the allocator hands out, which the caller closes. Raises NativeError."""
        return self.check(self.lib.ws_device_open(kind.encode(), index, allocator.encode(), own_context))

    def identity(self, device: DeviceHandle) -> dict[str, Any]:
        return self.described(self.lib.ws_device_identity(device))

    def pointer(self, device: DeviceHandle, address: Any) -> dict[str, Any]:
        """The driver's facts about an address: memory, context, device, ipc, rdma; and who handed it out."""
        return self.described(self.lib.ws_device_pointer(device, address))

    def identity_of(self, kind: str, index: int) -> dict[str, Any]:
        """A device's identity without opening it, which would take memory of a GPU, or all of its use."""
        return self.described(self.lib.ws_device_identity_of(kind.encode(), index))


@cache
def core() -> Core:
    """The core, opened once. Raises WirespeedError when it has not been built."""
    opened = Core()
    opened.find_libraries()
    opened.compile_apart()
    return opened
