"""`python -m wirespeed`: the same as `wirespeed`, where scripts are not on PATH."""

import sys

from wirespeed.cli.start import main

sys.exit(main())
