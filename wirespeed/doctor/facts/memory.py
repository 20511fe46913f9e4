"""Ways for processes of one host to share memory: /dev/shm, copies between processes, containers."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import subprocess
import sys

from wirespeed.doctor.facts.model import HostMemory
from wirespeed.doctor.facts.tree import Tree
from wirespeed.job.shm_cleanup import left_behind

_LARGE = 1 << 20
"""Bytes of a file in /dev/shm that is worth a word."""
_SYS_PTRACE = 19
"""CAP_SYS_PTRACE of linux/capability.h."""

_READER = """
import ctypes, sys
class MapPart(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
into = ctypes.create_string_buffer(8)
here = MapPart(ctypes.addressof(into), 8)
there = MapPart(int(sys.argv[2]), 8)
libc = ctypes.CDLL(None, use_errno=True)
got = libc.process_vm_readv(int(sys.argv[1]), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print(0 if got == 8 and into.raw == b"wirespee" else ctypes.get_errno() or -1)
"""
"""Reads its parent's memory: the kernel checks that access as it does between two ranks."""


def host_memory(tree: Tree, cma: str | None = None) -> HostMemory:
    """`cma`: what a trial found; None: try it now."""
    shm = tree.at("/dev/shm")
    space = os.statvfs(shm) if shm.exists() else None
    about = tree.text("/proc/self/status") or ""
    left = left_behind(shm)
    others = {path.name: status.st_blocks * 512 for path, status in left_behind(shm, others=True).items()}
    rights = re.search(r"^CapEff:\s*([0-9a-f]+)", about, re.MULTILINE)
    return HostMemory(
        shm_bytes=space and space.f_blocks * space.f_frsize,
        shm_free=space and space.f_bavail * space.f_frsize,
        shm_writable=os.access(shm, os.W_OK | os.X_OK),
        ptrace_scope=tree.number("/proc/sys/kernel/yama/ptrace_scope"),
        cma=try_cma() if cma is None else cma,
        container=container(tree),
        left={path.name: status.st_size for path, status in left.items()},
        left_bytes=sum(status.st_blocks * 512 for status in left.values()),
        others={name: size for name, size in others.items() if size >= _LARGE},
        may_trace=bool(rights and int(rights[1], 16) >> _SYS_PTRACE & 1),
    )


def container(tree: Tree) -> str:
    """The kind of container that this process is in, by its typical files; empty: none recognised."""
    files = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "apptainer"}
    groups = tree.text("/proc/1/cgroup") or ""
    found = [name for file, name in files.items() if tree.at(file).exists()]
    found += [name for name in ("kubepods", "docker", "containerd", "lxc") if name in groups]
    return found[0] if found else ""


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
