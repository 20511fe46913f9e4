"""A home folder for what this process starts: epilogs have none, and Open MPI 5 fails without."""

from __future__ import annotations

import atexit
import os
import pwd
from pathlib import Path

from wirespeed.host.removal import try_to_remove_folder
from wirespeed.host.temporary import make_folder


def ensure_home() -> None:
    """Sets HOME if it is not: to the account's folder, else to an empty one that goes with this process."""
    if os.environ.get("HOME"):
        return
    try:
        own = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        own = ""
    if not own or not Path(own).is_dir():
        own = make_folder("home")
        atexit.register(try_to_remove_folder, own)
    os.environ["HOME"] = own
