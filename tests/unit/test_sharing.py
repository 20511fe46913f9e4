"""A file to give away: no name of a host, a user or a folder is left in it, and every figure is."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.golden import Golden
from support.results import RUN, entry, failure, line_of, run, step

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.results.reading import read, record_of
from wirespeed.results.sharing import shared

HOSTS = ("swift7.secret.example", "swift8.secret.example")
NAMES = ("swift7", "swift8", "secret.example", "joan", "juno-project", "lab42", "Joan Doe")


def told() -> list[dict[str, Any]]:
    """Records that name hosts, users and folders wherever they may."""
    head = run(command=("wirespeed", "pingpong", "--hosts", ",".join(HOSTS), "--out", "juno-project/r.jsonl"))
    head["environment"]["host"] = HOSTS[0]
    head["environment"]["variables"] = {
        "LD_LIBRARY_PATH": "/home/joan/juno-project/lib:/usr/lib",
        "UCX_MODULE_DIR": "~joan/lab42",
        "SLURM_JWT": "joan",
    }
    head["plan"] |= {"hosts": list(HOSTS), "out": "juno-project/r.jsonl", "mpi": "/scratch/Joan Doe/lab42"}
    first = step()
    for rank, host in zip(first["ranks"], ("swift7", "swift8"), strict=True):
        rank["host"] = host
    first["mpi"] |= {
        "library": "/home/joan/juno-project/lib/libmpi.so.40",
        "string": "Open MPI v5.0.8, package: Open MPI joan@swift7 Distribution, ident: 5.0.8",
    }
    first["details"] = {"via": "P2P/CUMEM", "log": "file:///home/joan/juno-project/x.log"}
    lost = failure() | {"host": "swift8", "text": f"rank 1 on SWIFT8 died in {first['mpi']['library']}"}
    lost["log"] = [
        "joan@swift8.secret.example: Permission denied (publickey).",
        "see https://docs.open-mpi.org/en",
    ]
    return [head, first, entry(), lost]


def given_away(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        Path(file.name).write_text("".join(json.dumps(record) + "\n" for record in records))
        return [as_it_was(value) for value in shared(read(file.name))]


def as_it_was(record: dict[str, Any]) -> dict[str, Any]:
    """With the members that it lacks, as every reader has them."""
    read_back = record_of(record)
    assert read_back
    return line_of(read_back)


def test_names(golden: Golden) -> None:
    """Protects that no name is left, that one is the same everywhere, and what is no name: figures, pages."""
    before = told()
    after = given_away(before)
    assert [name for name in NAMES if name.lower() in json.dumps(after).lower()] == []
    assert after[2] == as_it_was(before[2])
    head, first, _, lost = after
    parts: dict[str, Any] = {name: head["plan"][name] for name in ("hosts", "out", "mpi")}
    parts |= {name: head["environment"][name] for name in ("host", "variables")}
    parts["command"] = head["command"]
    parts |= {f"step's {name}": first[name] for name in ("mpi", "details")}
    parts["hosts of ranks"] = [rank["host"] for rank in first["ranks"]]
    parts |= {f"failure's {name}": lost[name] for name in ("host", "text", "log")}
    golden("results/shared", parts)


@pytest.mark.parametrize("name", ["host", "path", "pingpong", "run", "ranks", "user", "n1"])
def test_a_host_may_be_called_as_anything_is(name: str) -> None:
    """Protects the file from a machine whose name is a word of it."""
    records = [run(), step(), entry(), failure()]
    records[0]["environment"]["host"] = name
    for rank in records[1]["ranks"]:
        rank["host"] = name
    head, first, figure, lost = given_away(records)
    assert head["environment"]["host"] == first["ranks"][0]["host"] == "host1"
    assert figure == as_it_was(records[2]) and head["plan"]["pattern"] == "pingpong"
    assert (lost["path"], lost["what"]) == (records[3]["path"], records[3]["what"])


def test_the_command_writes_a_file_that_reads_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in told()))
    assert main(["show", "r.jsonl", "--share", "given.jsonl"]) == ExitCode.OK
    printed = capsys.readouterr()
    assert "host1" in printed.out and "swift7" not in printed.out
    assert "hosts, users and folders have neutral names" in printed.err
    before, after = read("r.jsonl"), read("given.jsonl")
    assert (
        not after.warnings and after.entries == before.entries and len(after.records) == len(before.records)
    )
    assert main(["report", "given.jsonl", "-o", "page.html"]) == ExitCode.OK
    page = Path("page.html").read_text().lower()
    assert [name for name in NAMES if name.lower() in page] == []
    # A result file is never overwritten, this one included.
    assert main(["show", "r.jsonl", "--share", "r.jsonl"]) == ExitCode.CANNOT_WRITE


def test_a_run_of_this_machine_tells_nothing_of_it() -> None:
    (head,) = given_away([run(command=("wirespeed", "pingpong", "--out", f"{Path.home()}/secret/r.jsonl"))])
    assert os.uname().nodename not in json.dumps(head["environment"]) and "secret" not in json.dumps(head)


def test_what_a_newer_version_wrote_stays(tmp_path: Path) -> None:
    """Protects members and kinds of records that this version does not know; names in them are neutral."""
    file, newer = tmp_path / "r.jsonl", {"kind": "weather", "run": RUN, "host": HOSTS[0], "degrees": 21.5}
    newer_entry = entry() | {"humidity": {"host": HOSTS[0], "share": 0.4}}
    lines = [run(), step(), newer_entry, newer]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "entry", "torn')
    *_, told, other = shared(read(file))
    assert other == newer | {"host": "host3"} and told["bytes"] == newer_entry["bytes"]
    assert told["humidity"] == {"host": "host3", "share": 0.4}


def test_results_of_the_project_can_be_shared() -> None:
    """Protects files with what other machines wrote: nothing but names and variables changes."""
    for file in ("h200-x2-survey.jsonl", "h200-x2-evidence.jsonl.gz"):
        results = read(Path(__file__).parents[2] / "results" / file)
        after = [record for value in shared(results) if (record := record_of(value))]
        assert [type(record) for record in after] == [type(record) for record in results.records]
        assert [record for record in after if record.__struct_config__.tag == "entry"] == results.entries
