"""The report page: one self-contained HTML file of what result files hold."""

from wirespeed.report.page.render import render
from wirespeed.report.sources import Source, read_sources

__all__ = ["Source", "read_sources", "render"]
