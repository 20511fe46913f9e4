"""TCP sockets of the kernel, between host buffers."""

from wirespeed.paths import TransferPath

PATHS = (
    TransferPath("host-shared", "a ring in shared memory, through which both CPUs copy at once, without MPI",
                 transport="pipelined", memory="pageable", one_host=True, order=11, default=False,
                 instead_of_mpi=True),
    TransferPath("host-tcp", "the kernel's TCP sockets between pageable host buffers, without MPI",
                 transport="tcp", memory="pageable", order=12, default=False, instead_of_mpi=True),
)  # fmt: skip
