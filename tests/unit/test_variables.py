"""Of the environment, results and the doctor tell what is known and no secret: an allow-list."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from support import fake_machine
from support.fake_facts import facts_of
from support.records import console, text_of
from support.results import STEP_PATH, entry, run

from wirespeed.cli.main import main
from wirespeed.doctor.findings import find_all, network_choice, nics_used
from wirespeed.doctor.result import Result
from wirespeed.doctor.tables import table as tables
from wirespeed.host import mpi, variables
from wirespeed.paths import all_paths
from wirespeed.report.doctor.terminal import print_result
from wirespeed.results import recorder

PREFIXES = (
    *("CUDA_", "FI_", "FLUX_", "HIP_", "HSA_", "I_MPI_", "MPI4PY_", "MPICH_", "MPIR_CVAR_", "MV2_", "NCCL_"),
    *("NVSHMEM_", "OMP_", "OMPI_", "OMPI_MCA_", "ONEAPI_", "PALS_", "PMIX_", "PRTE_", "SLURM_", "UCX_"),
    "ZE_",
)
"""Of libraries and launchers; sites and users put names of their own behind them."""
ENDS = ("TOKEN", "AUTH", "CRED", "PWD", "COOKIE", "API_KEY", "USER", "ACCOUNT")
NAMED = (
    *("SLURM_JWT", "FLUX_URI", "PMIX_SERVER_URI", "PMIX_SERVER_URI41", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT"),
    *("SBATCH_ACCOUNT", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "USER", "SSH_AUTH_SOCK", "UCX_SITE"),
    *("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"),
    *("NVSHMEM_BOOTSTRAP_UID_SESSION_ID", "SLURM_SUBMIT_DIR", "PMIX_MCA_psec_munge_x", "NCCL_RAS_ADDR"),
    *("UCX_IB_PKEY", "UCX_TCP_COOKIE", "PRTE_MCA_site", "NCCL_NET_SECRET", "SLURM_JOB_NAME"),
    "FI_TCP_PASSWORD",
    *("UCX_IB_BEARER", "UCX_RC_TICKET", "NCCL_NET_PRIVATE", "NCCL_NET_SIG", "FI_OPX_PSK", "MPICH_GPU_LOGIN"),
    *("SLURM_CPU_BIND_X", "SLURM_GPUS_PER_X", "SLURM_MEM_BIND_X", "SLURM_NTASKS_X", "MPI4PY_RC_X"),
)
SECRET = "hunter2"
KNOWN = {
    "UCX_TLS": "all",
    "NCCL_IB_HCA": "mlx5_0",
    "NCCL_P2P_NET_CHUNKSIZE": "131072",
    "LD_LIBRARY_PATH": "/opt/lib",
    "OMP_NUM_THREADS": "4",
    "SLURM_CPU_BIND": "cores",
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of 200 variables that are set and hold a secret, beside KNOWN."""
    names = [*(f"{prefix}{end}" for prefix in PREFIXES for end in ENDS), *NAMED]
    assert len(names) >= 200
    for name in names:
        monkeypatch.setenv(name, f"{SECRET}-{name}")
    for name, value in KNOWN.items():
        monkeypatch.setenv(name, value)
    return names


def test_a_result_file_and_its_page_hold_none_of_200(tmp_path: Path, secrets: list[str]) -> None:
    """Protects who gives a file away: a token of the batch system is valid for hours."""
    head = run()
    assert SECRET not in json.dumps(head)
    assert KNOWN.items() <= head["environment"]["variables"].items()
    given = dict.fromkeys(secrets, SECRET) | {"OMPI_MCA_pml": "ucx"}
    step = recorder.step("0" * 12, 0, STEP_PATH, recorder.StepJob(given))
    assert step.variables == {"OMPI_MCA_pml": "ucx"}
    file = tmp_path / "r.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in (head, entry())))
    assert main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert SECRET not in page and "mlx5_0" in page


def test_the_doctor_tells_none_of_200(tmp_path: Path, secrets: list[str]) -> None:
    """On the screen and in its record; of libraries' unknown variables it tells the names."""
    found = dict.fromkeys(secrets, SECRET) | KNOWN
    facts = facts_of(fake_machine.tree(tmp_path), variables=found)
    result = Result(facts, tuple(find_all(facts)))
    screen = console(100)
    print_result(screen, result)
    said = text_of(screen)
    assert SECRET not in said and "UCX_TOKEN" in said and "NCCL_IB_HCA=mlx5_0" in said
    assert SECRET.encode() not in msgspec.json.encode(result.record)


def test_what_the_project_itself_sets_or_advises_is_known() -> None:
    """Protects comparisons: a difference that no file holds is not named."""
    names = {name for path in all_paths() for name in path.switch.variables}
    names |= {name for one in tables("tunings") for name in one["variables"]}
    names |= {name for one in tables("hang_remedies") for name in one.get("variables", {})}
    names |= {fault["name"] for fault in variables.table("fault")}
    keys = ("on", "direct_off", "rdma_off", "idle")
    switches = [one.get(key, {}) for one in variables.table("mpi") for key in keys]
    names |= {name for switch in switches for name in switch}
    names |= {
        mpi._KILL_DELAY,
        mpi._ABORT_DELAY,
        mpi._STARTER,
        *nics_used._LISTS,
        "OPAL_PREFIX",
        "I_MPI_ROOT",
        "MPI4PY_LIBMPI",
    }
    names |= {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_opal_common_ucx_tls", "OMPI_MCA_opal_common_ucx_devices"}
    text = Path(network_choice.__file__).read_text()
    names |= set(re.findall(r'"((?:UCX|NCCL)_[A-Z_]+)"', text))
    assert len(names) > 60
    assert sorted(names - variables.shareable(dict.fromkeys(names, "1")).keys()) == []


@pytest.mark.parametrize(
    "value",
    [
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2VyIjoiYSJ9.c2lnbmVk",
        "n1:7,0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    ],
)
def test_a_token_under_a_name_that_a_library_may_have_is_not_told(value: str) -> None:
    assert variables.shareable({"UCX_IB_SITE": value, "NCCL_NET_X": value}) == {}
    told = {"UCX_IB_SITE": "mlx5_0:1,mlx5_1:1", "OPAL_PREFIX": f"/opt/{value}/lib", "NCCL_NET_X": "1048576"}
    assert variables.shareable(told) == dict(sorted(told.items()))


def test_a_name_that_is_no_name_is_not_told() -> None:
    """Protects terminals and pages: anything but = and NUL may be in a variable's name."""
    assert variables.shareable({"UCX_IB_\x1b]0;x": "1", "UCX_IB_\udcff": "1", "UCX_IB_é": "1"}) == {}


def test_a_value_that_is_no_text_can_be_written() -> None:
    assert variables.shareable({"UCX_TLS": "\udcff\udcfe"}) == {"UCX_TLS": "��"}
