"""The `wirespeed` command, as its script starts it: Ctrl-C is quiet even while modules are imported."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
_RAISES = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _RAISES:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """The command's exit code."""
    from wirespeed.cli.main import main as run

    try:
        if _RAISES:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if waking := sys.modules.get("wirespeed.cli.common.waking"):
        waking.leave(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
