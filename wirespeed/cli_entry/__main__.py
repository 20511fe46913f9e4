"""The command, started by its front end: `python .../wirespeed/cli_entry pingpong ...`.

A folder of its own, as wirespeed/entry is, so that it surely is the same package.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.cli.main import main  # noqa: E402
from wirespeed.tether import die_with_parent  # noqa: E402

die_with_parent()
sys.exit(main())
