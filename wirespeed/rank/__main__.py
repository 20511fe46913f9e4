"""The program that a launcher starts in every rank: `python .../wirespeed/rank SPEC`, or, by hand,
`mpiexec -n 2 python -m wirespeed.rank ORDER.json`: --dry-run --json prints such orders.

The rank imports the package that this file lies in: the one that its front end belongs to.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.errors import WirespeedError  # noqa: E402
from wirespeed.rank.main import main  # noqa: E402

try:
    main(sys.argv[1] if sys.argv[1:] else "")
except WirespeedError as error:
    print(f"wirespeed: {error}", file=sys.stderr)
    sys.exit(error.code)
