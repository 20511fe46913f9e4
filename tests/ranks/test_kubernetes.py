"""What `wirespeed script --batch kubernetes` writes: by Kubernetes' own schemas, and as it runs in a pod."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.results.model import Entry
from wirespeed.results.reading import read

pytestmark = pytest.mark.slow(after=1)

IMAGE = ("--batch", "kubernetes", "--image", "registry.example.org/wirespeed:1")
VERSION = "1.31"


def written(file: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["script", *words, *IMAGE, "-o", str(file)]) == ExitCode.OK
    return list(yaml.safe_load_all(file.read_text()))


def pods(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The specifications of its pods."""
    spec = document["spec"]
    kinds = spec["mpiReplicaSpecs"].values() if document["kind"] == "MPIJob" else [spec]
    return [kind["template"]["spec"] for kind in kinds]


@pytest.mark.parametrize("end", ["\r", "\n", "\x0b", "\x85", "\u2028", "\x07"])
def test_no_word_ends_a_line(end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the cluster from a second document, which a file's name has made."""
    hidden = f"r.jsonl{end}---{end}kind: Pod{end}#"
    plain = written(tmp_path / "plain.yaml", "pingpong", "--gpus-per-node", "2", "--out", "r.jsonl")
    found = written(tmp_path / "job.yaml", "pingpong", "--gpus-per-node", "2", "--out", hidden)
    assert [one["kind"] for one in found] == [one["kind"] for one in plain]
    assert (tmp_path / "job.yaml").read_text().count("\n") == (tmp_path / "plain.yaml").read_text().count(
        "\n"
    )
    moves = tmp_path / f"m{end}x.csv"
    moves.write_text("step,from,to,bytes\n0,0,1,8\n")
    assert main(["script", "custom", "--file", str(moves), *IMAGE, "--gpus-per-node", "2"]) == ExitCode.USAGE
    assert "takes words of one line" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        ("pingpong --gpus-per-node 2 --nodes 2 --queue gold", ["MPIJob", "Service", "Job"]),
        ("halo --gpus-per-node 8 --paths gpu,nccl", ["Service", "Job"]),
        ("ring --gpus-per-node 0 --ranks-per-node 2 --paths host --setup date", ["MPIJob"]),
    ],
)
def test_kubernetes_takes_it(words: str, kinds: list[str], tmp_path: Path) -> None:
    """Protects from a field that Kubernetes refuses, or ignores because of a typing error."""
    documents = written(tmp_path / "job.yaml", *words.split())
    assert [one["kind"] for one in documents] == kinds
    for document in documents:
        if document["kind"] == "MPIJob":
            assert document["apiVersion"] == "kubeflow.org/v2beta1"
            for spec in pods(document):
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
                kubernetes_validate.validate(pod, VERSION, strict=True)
        else:
            kubernetes_validate.validate(document, VERSION, strict=True)
    for spec in (spec for one in documents if one["kind"] != "Service" for spec in pods(one)):
        for script in spec["containers"][0].get("args", ()):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_the_ranks_meet_at_the_first_pod(tmp_path: Path) -> None:
    """Protects the name of the first pod, which three documents must agree on."""
    _, service, job = written(tmp_path / "job.yaml", "pingpong", "--gpus-per-node", "4", "--nodes", "2")
    (spec,) = pods(job)
    name, domain = job["metadata"]["name"], service["metadata"]["name"]
    assert spec["subdomain"] == domain and service["spec"]["selector"] == {"job-name": name}
    script = spec["containers"][0]["args"][0]
    assert f"MASTER_ADDR={name}-0.{domain} " in script and "WORLD_SIZE=2 " in script
    assert job["spec"]["suspend"] is True, "it must not take the GPUs that the MPIJob waits for"


@pytest.mark.slow
def test_two_pods(tmp_path: Path) -> None:
    """Protects the way from the pods' variables to the result file at the end of the first one's log."""
    words = "pingpong --gpus-per-node 0 --nodes 2 --paths host-tcp --sizes 8,64K --max-time 0.02 --device cpu"
    _, job = written(tmp_path / "job.yaml", *words.split())
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef" * 2)
    secret.chmod(0o400)
    script = pods(job)[0]["containers"][0]["args"][0]
    script = re.sub("MASTER_ADDR=[^ ]+", "MASTER_ADDR=127.0.0.1", script).replace("29500", "29517")
    script = script.replace("/tmp/", f"{tmp_path}/").replace("/run/wirespeed/secret", str(secret))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    running = [
        subprocess.Popen(
            ["bash", "-c", script],
            env={**environment, "JOB_COMPLETION_INDEX": str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in (0, 1)
    ]
    (first, errors), (other, _) = (one.communicate(timeout=100) for one in running)
    assert [one.returncode for one in running] == [0, 0], errors
    log = tmp_path / "results.jsonl"
    log.write_text("".join(line + "\n" for line in first.splitlines() if line.startswith("{")))
    found = [record for record in read(log).records if isinstance(record, Entry)]
    assert sorted((one.path, one.bytes) for one in found) == [("host-tcp", 8), ("host-tcp", 65536)]
    assert "{" not in other
