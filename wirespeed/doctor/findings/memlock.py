"""Locked memory: RDMA pins what it sends."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Facts
from wirespeed.doctor.finding import Cost, Finding


def find(facts: Facts) -> Iterator[Finding]:
    """A limit on locked memory where there are RDMA adapters."""
    limit = facts.limits.memlock
    if limit is None or not facts.nics:
        return
    yield Finding(
        "memlock",
        "Locked memory is limited: RDMA cannot register large buffers",
        Cost.BREAKS if limit < 1 << 20 else Cost.HIGH,
        (f"RLIMIT_MEMLOCK: {limit >> 10} KiB (ulimit -l)", f"RDMA adapters: {facts.nic_names}"),
        (
            "ulimit -l unlimited",
            "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/rdma.conf  # new logins",
            "# Slurm: PropagateResourceLimitsExcept=MEMLOCK, and LimitMEMLOCK=infinity for slurmd",
        ),
        source="https://docs.open-mpi.org/en/v5.0.8/tuning-apps/networking/ib-and-roce.html",
    )
