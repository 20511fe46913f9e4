"""wirespeed: how fast data moves between processors, by every path that a machine offers."""

from __future__ import annotations

TYPE_CHECKING = False
"""As typing has it, whose import would take a while in which Ctrl-C ends the command with a stack trace."""
if TYPE_CHECKING:
    from typing import Any

    from wirespeed._version import __version__
    from wirespeed.cli.from_python import measure
    from wirespeed.errors import WirespeedError
    from wirespeed.results.reading import read as load

__all__ = ["WirespeedError", "__version__", "load", "measure"]


def __getattr__(name: str) -> Any:
    # Ranks import this package too: nothing is loaded before somebody asks for it.
    if name == "load":
        from wirespeed.results.reading import read

        return read
    if name == "measure":
        from wirespeed.cli.from_python import measure

        return measure
    if name == "WirespeedError":
        from wirespeed.errors import WirespeedError

        return WirespeedError
    if name == "__version__":
        from wirespeed._version import __version__

        return __version__
    raise AttributeError(f"module 'wirespeed' has no attribute '{name}'")
