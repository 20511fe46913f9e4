"""A front end that no person has started: `python .../wirespeed/frontend PLAN SECONDS COMMAND...`
measures the encoded plan, for so many seconds at most (0: no bound), as that command.

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
_, plan, seconds, *sys.argv = sys.argv
try:
    sys.exit(int(measure(Plan.of(decode(plan)), lambda event: None, Bound.from_now(float(seconds)))))
except WirespeedError as error:
    # The starter reads stderr.
    print(f"wirespeed: {error}", file=sys.stderr)
    sys.exit(error.code)
