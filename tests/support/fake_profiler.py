"""A stand-in of nsys, rocprofv3, ncu or vtune, by the name it is called by.

It reads the command line as that profiler does, runs the program with the listener of range_listener.cpp, and
writes a report once the program has ended.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

NAME = Path(sys.argv[0]).name


def _parsed() -> tuple[Path, list[str]]:
    """(report, program)."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    words = sys.argv[1:]
    if NAME == "nsys":
        assert words.pop(0) == "profile"
        for option in ("trace", "sample", "cpuctxsw", "force-overwrite", "output"):
            parser.add_argument(f"--{option}")
    elif NAME == "ncu":
        parser.add_argument("--nvtx", action="store_true")
        parser.add_argument("--force-overwrite", action="store_true")
        parser.add_argument("--export", dest="output")
    elif NAME == "rocprofv3":
        for flag in ("marker-trace", "kernel-trace", "memory-copy-trace"):
            parser.add_argument(f"--{flag}", action="store_true")
        for option in ("output-format", "output-directory", "output-file"):
            parser.add_argument(f"--{option}")
    else:
        parser.add_argument("-collect")
        parser.add_argument("-quiet", action="store_true")
        parser.add_argument("-result-dir", dest="output")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    if NAME == "rocprofv3":
        return Path(given.output_directory, f"{given.output_file}_results.pftrace"), program
    suffix = {"nsys": ".nsys-rep", "ncu": ".ncu-rep"}.get(NAME, "")
    return Path(f"{given.output}{suffix}"), program


report, program = _parsed()
heard = f"{report}.heard"
listener = os.environ["LISTENER"]
attached = {"NVTX_INJECTION64_PATH": listener, "HEARD": heard}
if NAME == "rocprofv3":
    attached = {"ROCP_TOOL_LIBRARIES": "x", "LD_LIBRARY_PATH": str(Path(listener).parent), "HEARD": heard}
# A process manager may have given the rank a descriptor, which profilers pass on.
done = subprocess.run(program, env={**os.environ, **attached}, close_fds=False)
time.sleep(float(os.environ.get("WRITES_FOR", "0")))
(file,) = report.parent.glob(f"{Path(heard).name}.*")
report.write_text(json.dumps({"heard": file.read_text().splitlines(), "code": done.returncode}))
file.unlink()
sys.exit(done.returncode)
