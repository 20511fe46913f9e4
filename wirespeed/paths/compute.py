"""A program on one rank: its computation alone, which communication is compared with."""

from wirespeed.paths import TransferPath

PATHS = tuple(
    TransferPath(
        name, f"a program on one rank, {where}", "copy", memory, work_alone=True, default=False, order=number
    )
    for number, (name, memory, where) in enumerate(
        (("compute", "device", "on its device"), ("compute-host", "pageable", "on a CPU")), 220
    )
)
