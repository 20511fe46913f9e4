"""Everything that two, four or eight GPUs of one host are measured with, part after part; resumable.

    .venv/bin/python bench/many_gpus.py --out FOLDER [--gpus 8] [--seconds 500] [--only groups-4,survey]
        [--peers FOLDER] [-- OPTIONS]

Each part leaves NAME.jsonl and NAME.txt, what it printed, with its seconds in the last line; a part whose
text ends so is not measured again. No part begins after `--seconds`. `--peers` is a folder with NVIDIA's
nccl-tests (and, for two GPUs, OSU's programs), which run beside ours; OSU's are started by the mpirun on
PATH. OPTIONS are wirespeed's, such as `--device emulated`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from common import COMMAND, parser

PATHS = "aware,staged-pipelined,nccl-stream,ipc-write,gpu"
COLLECTIVES = {
    "allreduce": "all_reduce_perf",
    "alltoall": "alltoall_perf",
    "reducescatter": "reduce_scatter_perf",
    "allgather": "all_gather_perf",
}


def two(peers: str | None) -> Iterator[tuple[str, str]]:
    """What two GPUs are compared by from one version to the next."""
    for turn in (1, 2, 3):
        yield f"default-{turn}", "pingpong"
        yield f"survey-{turn}", "survey"
        if peers and turn == 1:
            for name in ("latency", "bw"):
                osu = f"mpirun -n 2 --mca pml ucx {Path(peers, f'osu_{name}')} -m 1:1073741824 -d cuda D D"
                yield f"osu-{name}", osu
            for name in ("sendrecv_perf", "all_reduce_perf"):
                yield name, f"{Path(peers, name)} -b 8 -e 1G -f 4 -g 2 -n 20 -w 5"
    yield "allreduce", "allreduce --ranks 2 --paths gpu,nccl-stream --algorithm library,best,one-shot"
    wall = Path(__file__).with_name("wall_time.py")
    for name, paths in (("pingpong,ring,halo,jacobi,lbm", "gpu"), ("allreduce", "gpu:best")):
        which = f"--paths {paths} --only {name} --repeats 3 --seconds 0.3"
        yield f"wall-time-{paths.replace(':', '-')}", f"{sys.executable} {wall} {which}"


def parts(gpus: int, peers: str | None) -> Iterator[tuple[str, str]]:
    """Each part's name and command, in the order of what is most worth knowing."""
    if gpus == 2:
        yield from two(peers)
        return
    counts = ",".join(str(count) for count in (1, 2, 4, 8) if count <= gpus)
    for group in (gpus // 2, 2):
        yield f"groups-{group}", f"groups --ranks {gpus} --group {group} --paths {PATHS} --sizes 4:1G"
    yield "pairs", f"pairs --ranks {gpus}"
    for name, command in (("halo", "halo"), ("ring", "ring"), ("stream", f"stream --pairs {gpus // 2}")):
        ranks = "" if name == "stream" else f" --ranks {gpus}"
        yield name, f"{command}{ranks} --paths {PATHS} --sizes 8,512,4K,64K,1M,16M,64M,256M --budget 30"
    for name, peer in COLLECTIVES.items():
        sizes = "8,64,512,4K,16K,64K,256K,1M,4M,16M,64M,256M,1G"
        yield name, f"{name} --ranks {gpus} --paths gpu,nccl-stream --algorithm library,best --sizes {sizes}"
        if peers:
            yield peer, f"{Path(peers, peer)} -b 8 -e 1G -f 2 -g {gpus} -n 50 -w 10"
    yield "jacobi", f"jacobi --ranks {counts} --size 4096x4096 --paths {PATHS}"
    yield "lbm", f"lbm --ranks {counts} --size 8192x1024 --paths {PATHS}"
    yield "survey", "survey"


def finished(text: Path) -> bool:
    return text.exists() and "\n== took " in text.read_text()


def main() -> None:
    given = parser(
        __doc__,
        out="/tmp/many-gpus",
        gpus=8,
        seconds=500.0,
        only="",
        options=[],
        peers=None,
    ).parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + given.seconds
    only = set(filter(None, given.only.split(",")))
    for name, command in parts(given.gpus, given.peers):
        text, begun = folder / f"{name}.txt", time.monotonic()
        if (only and name not in only) or finished(text) or begun > end:
            continue
        words = command.split()
        if not words[0].startswith(("/", "mpirun")):
            (folder / f"{name}.jsonl").unlink(missing_ok=True)  # of a part that did not end
            words = [COMMAND, *words, *given.options, "--out", str(folder / f"{name}.jsonl")]
        with text.open("w") as said:
            running = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
            try:
                code = running.wait(max(end - begun, 5))
            except subprocess.TimeoutExpired:
                # wirespeed closes its file then, with what it has measured.
                running.terminate()
                running.wait()
                print(f"{name}: did not end in time", flush=True)
                continue
            seconds = time.monotonic() - begun
            said.write(f"\n== took {seconds:.1f} s, exit code {code}: {' '.join(words)}\n")
        print(f"{name}: {seconds:.1f} s, exit code {code}", flush=True)


if __name__ == "__main__":
    main()
