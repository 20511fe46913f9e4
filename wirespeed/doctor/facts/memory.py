"""How processes of one host may share memory: /dev/shm, copies between processes, containers."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import subprocess
import sys

from wirespeed.doctor.facts.model import HostMemory
from wirespeed.doctor.facts.tree import Tree

_FIRST_IPC = "ipc:[4026531839]"
"""The host's own IPC namespace: PROC_IPC_INIT_INO of the kernel's include/linux/proc_ns.h."""
_SYS_PTRACE = 19
"""CAP_SYS_PTRACE of linux/capability.h."""

_READER = """
import ctypes, sys
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
into = ctypes.create_string_buffer(8)
here = Part(ctypes.addressof(into), 8)
there = Part(int(sys.argv[2]), 8)
libc = ctypes.CDLL(None, use_errno=True)
got = libc.process_vm_readv(int(sys.argv[1]), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print(0 if got == 8 and into.raw == b"wirespee" else ctypes.get_errno() or -1)
"""
"""Reads its parent's memory: to the kernel's checks both are strangers, as two ranks are."""


def host_memory(tree: Tree, cma: str | None = None) -> HostMemory:
    """`cma`: what a trial found; None: try it now."""
    shm = tree.at("/dev/shm")
    total: int | None = None
    free: int | None = None
    try:
        space = os.statvfs(shm)
        total, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    except OSError:
        pass  # there is none
    status = tree.text("/proc/self/status") or ""
    rights = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return HostMemory(
        shm_bytes=total,
        shm_free=free,
        shm_writable=total is not None and os.access(shm, os.W_OK | os.X_OK),
        ptrace_scope=tree.number("/proc/sys/kernel/yama/ptrace_scope"),
        cma=try_cma() if cma is None else cma,
        container=container(tree),
        own_ipc=_own_ipc(tree),
        may_trace=bool(rights and int(rights[1], 16) >> _SYS_PTRACE & 1),
    )


def container(tree: Tree) -> str:
    """Which container this process is in, by the marks that each kind leaves; empty: none seen."""
    if tree.at("/.dockerenv").exists():
        return "docker"
    if tree.at("/run/.containerenv").exists():
        return "podman"
    if tree.at("/.singularity.d").exists():
        return "apptainer"
    groups = tree.text("/proc/1/cgroup") or ""
    return next((name for name in ("kubepods", "docker", "containerd", "lxc") if name in groups), "")


def _own_ipc(tree: Tree) -> bool:
    try:
        return str(tree.at("/proc/self/ns/ipc").readlink()) != _FIRST_IPC
    except OSError:
        return False


def try_cma() -> str:
    """Can another process of this user read this one's memory (process_vm_readv)?

    'works', 'after asking' (only once this process has allowed it by PR_SET_PTRACER), or why not.
    """
    number = _read_by_child(allow=False)
    if number == 0:
        return "works"
    if number == errno.EPERM and _read_by_child(allow=True) == 0:
        return "after asking"
    return os.strerror(number) if number > 0 else ""


def _read_by_child(*, allow: bool) -> int:
    """0 where it worked, the error's number where not, -1 where it could not be tried."""
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_ptracer, anybody = 0x59616D61, ctypes.c_ulong(-1).value
    content = ctypes.create_string_buffer(b"wirespee")
    words = [sys.executable, "-S", "-c", _READER, str(os.getpid()), str(ctypes.addressof(content))]
    if allow:
        libc.prctl(pr_set_ptracer, ctypes.c_ulong(anybody), 0, 0, 0)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return -1
    finally:
        if allow:
            libc.prctl(pr_set_ptracer, 0, 0, 0, 0)
