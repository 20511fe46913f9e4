"""A remote shell between hosts that share a file system: for a launcher what ssh is, without keys.

`remote_shell.py serve SOCKET` runs on a host, `remote_shell.py FOLDER/HOST.socket COMMAND...` runs a command
there: nothing of the caller's environment comes along, and the exit code comes back.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading

_KEPT = ("TMPDIR", "WIRESPEED_TEST_SESSION")


def serve(path: str) -> None:
    """Runs each command that arrives, on the standard streams that come with it."""
    environment = {"HOME": "/root", "USER": "root", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    environment |= {name: os.environ[name] for name in _KEPT if name in os.environ}
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_run, args=(connection, environment), daemon=True).start()


def _run(connection: socket.socket, environment: dict[str, str]) -> None:
    with connection:
        command, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        process = subprocess.Popen(
            ["sh", "-c", command.decode()],
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        for stream in streams:
            os.close(stream)
        connection.sendall(struct.pack("=i", process.wait()))


def call(path: str, command: str) -> int:
    """The command's exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(connection, [command.encode()], [0, 1, 2])
        answer = connection.recv(4)
    code: int = struct.unpack("=i", answer)[0] if len(answer) == 4 else 255
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    sys.exit(call(sys.argv[1], " ".join(sys.argv[2:])))
