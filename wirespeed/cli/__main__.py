"""The command, started by its front end: `python .../wirespeed/cli pingpong ...`.

It imports the package that it lies in, and no other one that sys.path may lead to.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.cli.start import main  # noqa: E402
from wirespeed.host.die_with_parent import die_with_parent  # noqa: E402

die_with_parent()
sys.exit(main())
