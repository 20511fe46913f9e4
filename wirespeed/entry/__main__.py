"""What a launcher starts in every rank: `python .../wirespeed/entry ORDERS`.

A folder of its own, so that nothing but this file is on the path that Python puts first, and the rank
surely imports the package that its front end belongs to.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.rank import main  # noqa: E402

main(sys.argv[1])
