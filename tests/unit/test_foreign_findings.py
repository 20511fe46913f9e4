"""Findings about a log: ways that NCCL names, failures with their causes, settings, a host's wires."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.foreign import INPUTS, read_text, text_of

from wirespeed.errors import ExitCode
from wirespeed.foreign.explain import explain
from wirespeed.foreign.findings import find
from wirespeed.foreign.findings.told import table
from wirespeed.foreign.question import Question
from wirespeed.foreign.readers import failing
from wirespeed.foreign.shapes import Finding, Log, Transport
from wirespeed.toml import parse

RESULTS = Path(__file__).parents[2] / "results"
NCCL = "n1:100:200 [0] NCCL INFO Channel 00/0 : {} -> {} [send] via {}\n"


def via(*ways: str, more: str = "") -> Log:
    return read_text(more + "".join(NCCL.format("0[0]", f"{at + 1}[0]", way) for at, way in enumerate(ways)))


def kinds(found: Sequence[Finding]) -> list[tuple[str, int]]:
    return [(finding.kind, finding.severity) for finding in found]


def test_sockets_where_a_faster_network_is_there() -> None:
    assert kinds(find(via("NET/Socket/0"))) == [("sockets", 1)]
    active = {
        "ports": [{"name": "mlx5_0", "port": 1, "state": "Active", "rate": 25e9, "layer": "InfiniBand"}]
    }
    sockets = (Transport("NCCL", "NET", "Socket/0", "0", "1", "n1", 7),)
    (found,) = find(Log(transports=sockets, topology=active))
    assert (
        found.severity == 2
        and "although mlx5_0 is there: 1 of 1 connection (line 7: NET/Socket/0)" in found.seen
    )


def test_no_gpudirect() -> None:
    assert not find(via("NET/IB/0/GDRDMA", "NET/IBext_v8/7/GDRDMA", "P2P/CUMEM", "P2P/IPC/read"))
    (found,) = find(via("NET/IB/0/GDRDMA", "NET/IB/1"))
    assert (
        found.kind == "no-gpudirect" and "1 of 2 connections" in found.seen and "nvidia_peermem" in found.do
    )


def test_host_memory_between_gpus_of_one_host() -> None:
    (usual,) = find(via("SHM/direct/direct"))
    assert usual.severity == 1 and "usual where peer access is missing" in usual.seen
    (wired,) = find(Log(transports=via("SHM").transports, topology={"links": {("GPU0", "GPU1"): "NV18"}}))
    assert wired.severity == 2 and "although GPU0 and GPU1 have NV18" in wired.seen
    found = find(via("SHM/direct/direct", more="export NCCL_P2P_DISABLE=1\n"))
    assert ("host-memory", 2) in kinds(found) and ("variable-NCCL_P2P_DISABLE", 2) in kinds(found)
    assert next(f for f in found if f.kind == "host-memory").cause == "NCCL_P2P_DISABLE=1 is set"


def test_the_network_inside_one_host() -> None:
    (found,) = find(Log(transports=via("NET/IB/0/GDRDMA").transports, topology={"nccl-hosts": 1}))
    assert found.kind == "network-inside" and "NCCL_SHM_DISABLE" in found.cause
    assert not find(Log(transports=via("NET/IB/0/GDRDMA").transports, topology={"nccl-hosts": 2}))


def test_two_versions_of_nccl() -> None:
    lines = "NCCL version 2.19.3+cuda12.2\nNCCL version {}+cuda12.2\n"
    assert kinds(find(read_text(lines.format("2.21.5")))) == [("versions", 2)]
    assert not find(read_text(lines.format("2.19.3")))


def test_gpus_hidden_by_the_batch_system() -> None:
    (found,) = find(read_text(text_of("17")))
    assert found.kind == "cuda-ipc" and "cuIpcOpenMemHandle failed" in found.seen
    assert "each rank sees one GPU, not the same" in found.cause and "may well be GPU-aware" in found.cause
    assert "--gpus=4 --gpu-bind=none" in found.do and "MPICH_GPU_IPC_ENABLED=0" in found.do


def test_a_failure_of_ipc_without_a_binding() -> None:
    (found,) = find(
        read_text("cuIpcOpenMemHandle return value: 1\nFailed to register remote memory, rc=-1\n")
    )
    assert "containers or namespaces" in found.cause


@pytest.mark.parametrize(
    "line, kind, word",
    [
        (
            "node NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9637892 bytes",
            "shm-space",
            "--shm-size",
        ),
        ("[n1:1] pml_ucx.c:200 PML ucx cannot be selected", "ucx-fallback", "ompi_info"),
        (
            "1.0 [n1:1:0] ucp_context.c:1 UCX  WARN network device 'mlx5_9:1' is not available",
            "ucx",
            "ucx_info",
        ),
        ("libfabric:1:core:core:fi_getinfo_():1 warn provider x not found", "libfabric", "fi_info"),
    ],
)
def test_lines_of_fallbacks(line: str, kind: str, word: str) -> None:
    (found,) = find(read_text(f"{line}\n"))
    assert (
        found.kind == kind and found.severity == 2 and found.seen.startswith("line 1: ") and word in found.do
    )


def test_each_kind_of_failing_line_has_its_advice() -> None:
    file = Path(failing.__file__).parents[1] / "failing.toml"
    named = {row["kind"] for row in parse(file.read_text())["line"]} | {"nccl-warning"}
    rows = table()["failure"]
    assert [row["kind"] for row in rows] and {row["kind"] for row in rows} == named
    assert {kind for row in rows for kind in row["explains"]} <= named


def test_settings_by_the_doctor_s_table() -> None:
    found = find(read_text("export NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO UCX_RNDV_THRESH=inf\n"))
    assert sorted(kinds(found)) == [("variable-NCCL_IB_DISABLE", 1), ("variable-UCX_RNDV_THRESH", 2)]
    with_adapter = find(via("NET/IB/0/GDRDMA", more="export NCCL_IB_DISABLE=1\n"))
    assert kinds(with_adapter) == [("variable-NCCL_IB_DISABLE", 2)]
    (listed,) = find(read_text("export UCX_TLS=rc,cuda_copy\n"))
    assert listed.seen == "UCX_TLS=rc,cuda_copy leaves out cuda_ipc, sm, gdr_copy" and listed.severity == 1
    assert not find(read_text("export UCX_TLS=all NCCL_DEBUG=INFO\n"))


def test_gpus_below_one_switch() -> None:
    links = {
        ("GPU0", "GPU1"): "PIX",
        ("GPU0", "GPU2"): "SYS",
        ("GPU1", "GPU2"): "SYS",
        ("GPU0", "NIC0"): "PIX",
    }
    (found,) = find(Log(topology={"links": links}))
    assert found.severity == 1 and "2 GPUs share PCIe switches" in found.seen
    assert found.cause.endswith("which their bytes pass twice, and may be slower than SYS pairs")
    assert not find(Log(topology={"links": dict.fromkeys(links, "NV18")}))


def test_links_and_ports_that_are_not_as_the_others() -> None:
    (down,) = find(Log(topology={"nvlink": {0: (26.5e9, 0.0), 1: (26.5e9, 26.5e9)}}))
    assert down.severity == 2 and "1 GPU: 1 of 2 on GPU 0" in down.seen
    ports = [
        {"name": f"mlx5_{at}", "port": 1, "state": "Active", "rate": rate, "layer": "InfiniBand"}
        for at, rate in enumerate((25e9, 12.5e9))
    ]
    (slow,) = find(Log(topology={"ports": ports}))
    assert "port mlx5_1/1 runs at 100 Gb/s, others at 200 Gb/s" in slow.seen
    ports[1]["layer"] = "Ethernet"
    assert not find(Log(topology={"ports": ports}))


def test_a_rate_beyond_the_wire_that_the_user_names() -> None:
    log = read_text(text_of("20"))
    assert explain(log, Question({"10GbE": 1.25e9})).code == ExitCode.OK
    beyond = explain(log, Question({"1GbE": 0.125e9}))
    assert beyond.code == ExitCode.IMPOSSIBLE
    assert "4.45 times what its wire carries (0.125 GB/s)" in beyond.findings[0].seen


def test_posts_have_the_findings_of_their_curves() -> None:
    posts = {file.name[:2]: read_text(file.read_text()) for file in INPUTS.glob("[0-9]*")}
    found = {number: kinds(explain(log, Question()).findings) for number, log in posts.items()}
    assert found == {
        "01": [("cliff", 2), ("in-place", 2), ("hump", 2)],
        "03": [("hump", 2)],
        "05": [("cliff", 2)],
        "07": [("two-speeds", 2)],
        "08": [("one-stalls", 2)],
        "09": [("staged-faster", 2)],
        "11": [("uplink", 1)],
        "14": [("fall", 2), ("uneven", 1), ("few", 1)],
        "17": [("cuda-ipc", 2)],
        "20": [],
        "22": [("impossible", 3)],
        "24": [("slow", 2), ("variable-UCX_TLS", 1)],
        "26": [("wrong-data", 3), ("alignment", 2)],
    }


SOUND = sorted([*RESULTS.glob("*/*nccl-tests*.txt"), *INPUTS.glob("healthy/*")])


@pytest.mark.parametrize("file", SOUND, ids=lambda file: file.stem)
def test_sound_outputs_have_none(file: Path) -> None:
    log = read_text(file.read_text())
    assert log.curves and not explain(log, Question()).findings


SLOW = """# OSU MPI-CUDA Bandwidth Test v7.3
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size      Bandwidth (MB/s)
1048576              {rate}
4194304              {rate}
"""


@pytest.mark.parametrize(
    "rate, link, kind",
    [
        ("6000.00", "NDR", ["below-wire"]),
        ("20000.00", "NDR", []),
        ("14000.00", "HDR", ["below-others"]),
        ("22000.00", "HDR", []),
        ("24500.00", "HDR", []),
    ],
)
def test_far_below_the_wire_or_what_others_measured(rate: str, link: str, kind: list[str]) -> None:
    question = Question({link: {"NDR": 50e9, "HDR": 25e9}[link]})
    assert [one.kind for one in explain(read_text(SLOW.format(rate=rate)), question).findings] == kind


def test_settings_of_an_mpi_that_only_starts_the_ranks() -> None:
    table = text_of("26")
    assert "variable-OMPI_MCA_pml" not in [
        one.kind for one in find(read_text(f"$ mpirun -mca pml ob1 ./sendrecv_perf\n{table}"))
    ]
    moved = find(read_text(f"$ mpirun -mca pml ob1 ./osu_bw D D\n{text_of('05')}"))
    assert "variable-OMPI_MCA_pml" in [one.kind for one in moved]


def test_a_setting_that_the_text_changes() -> None:
    log = read_text("$ UCX_RNDV_THRESH=8k ./osu_bw\n$ UCX_RNDV_THRESH=inf ./osu_bw\n")
    assert log.settings["UCX_RNDV_THRESH"] == "inf" and log.values["UCX_RNDV_THRESH"] == ("8k", "inf")


def test_a_variable_that_a_message_proposes_is_not_set() -> None:
    """Protects against a hint that hides its own line, and turns up among the settings."""
    line = "P2P is disabled between GPUs 1 and 0. You can repress this with NCCL_IGNORE_DISABLED_P2P=1."
    log = read_text(f"n1:10:20 [0] NCCL INFO {line}\nPlease set NCCL_IB_DISABLE=1\nNCCL_DEBUG=INFO\n")
    assert log.settings == {"NCCL_DEBUG": "INFO"}
    assert [one.kind for one in find(log)] == ["p2p-off"]
