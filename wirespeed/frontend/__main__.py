"""A front end that no person has started: `python .../wirespeed/frontend PLAN [SECONDS]` measures the
encoded plan, for so many seconds at most.

It imports the package that it lies in, and no other one that sys.path may lead to.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.errors import WirespeedError  # noqa: E402
from wirespeed.frontend.bound import Bound  # noqa: E402
from wirespeed.frontend.session import measure  # noqa: E402
from wirespeed.host.die_with_parent import die_with_parent  # noqa: E402
from wirespeed.job.plan import Plan, decode  # noqa: E402

die_with_parent()
try:
    bound = Bound.from_now(float(sys.argv[2])) if sys.argv[2:] else None
    sys.exit(int(measure(Plan.of(decode(sys.argv[1])), lambda event: None, bound)))
except WirespeedError as error:
    # The starter reads stderr.
    print(f"wirespeed: {error}", file=sys.stderr)
    sys.exit(error.code)
