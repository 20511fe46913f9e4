"""UCX_TLS: what a list of transports allows, and what of a machine it leaves out."""

from __future__ import annotations

_SHARED = {"posix", "sysv", "xpmem"}
_RDMA = {
    f"{kind}{engine}" for kind in ("rc", "ud", "dc") for engine in ("", "_verbs", "_mlx5", "_v", "_x")
} | {"srd"}
_ALIASES = {
    "ib": _RDMA,
    **{kind: {word for word in _RDMA if word.startswith(kind)} for kind in ("rc", "ud", "dc")},
    **dict.fromkeys(("sm", "shm", "mm"), _SHARED),
    "cuda": {"cuda_copy", "cuda_ipc", "gdr_copy"},
    "rocm": {"rocm_copy", "rocm_ipc", "rocm_gdr"},
    "gpu": {"cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "rocm_gdr"},
}
"""Names in UCX_TLS that stand for several transports."""
SOURCE = "UCX's ucp_context.c: ucp_tl_aliases; UCX FAQ, 'Working with GPU'"


def left_out(value: str, ipc: str = "", *, network: bool = False) -> dict[str, str]:
    """Name to add to the list -> what UCX may not do without it.

    `ipc`: cuda_ipc or rocm_ipc, where GPUs are used. `network`: there are active RDMA ports.
    """
    found = {}
    if ipc and not _allows(value, {copy := ipc.replace("ipc", "copy")}):
        found[copy] = "UCX takes a GPU's memory for a host's, and may crash on a device pointer"
    if ipc and not _allows(value, {ipc}):
        found[ipc] = "UCX may not copy directly between GPUs"
    if not _allows(value, _SHARED):
        found["sm"] = "UCX may not use shared memory within a host"
    # A list without any network serves jobs of one host.
    networked = value.startswith("^") or "tcp" in value.split(",")
    if network and networked and not _allows(value, _RDMA):
        found["rc"] = "UCX may not use RDMA between hosts"
    return found if value else {}


def _allows(value: str, wanted: set[str]) -> bool:
    """Whether a UCX list ('rc,cuda' or '^cuda_ipc') allows one of these transports."""
    names = {name.strip().partition(":")[0] for name in value.lstrip("^").split(",")}
    listed = set().union(*(_ALIASES.get(name, {name}) for name in names))
    if value.startswith("^"):
        return bool(wanted - listed)
    return "all" in names or bool(wanted & listed)
