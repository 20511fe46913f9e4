"""The `wirespeed` command, as its script starts it: from here on, Ctrl-C is no traceback."""

import sys

try:
    import signal

    from wirespeed import interrupts

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        interrupts.leave_at_once()
except KeyboardInterrupt:
    sys.exit(130)


def main() -> int:
    """The command's exit code."""
    from wirespeed.cli.main import main as run

    code = run()
    if waking := sys.modules.get("wirespeed.cli.common.waking"):
        waking.leave(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
