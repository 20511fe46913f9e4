"""bandwidthTest of CUDA's samples: copies of a process; of device to device, bytes read and written."""

from __future__ import annotations

import re
from dataclasses import replace

from wirespeed.foreign.found import Reader
from wirespeed.foreign.shapes import Curve, Point
from wirespeed.foreign.text import count, numbers

_TITLE = re.compile(r"\s*(Host|Device) to (Host|Device) Bandwidth, (\d+) Device\(s\)")
_KIND = re.compile(r"\s*(PINNED|PAGEABLE|Write-Combined) Memory")
_COLUMNS = re.compile(r"\s*Transfer Size \(Bytes\)\s+Bandwidth\((GB|MB)/s\)")
_DEVICE = re.compile(r"\s*Device \d+: (.+)$")
_NAMES = {("Host", "Device"): "H D", ("Device", "Host"): "D H", ("Device", "Device"): "D D"}
_UNITS = {"GB": (1e9, "GB = 1e9 B"), "MB": (2.0**20, "MB = 2^20 B")}


class BandwidthTest(Reader):
    """A title, the kind of host memory, the columns, and a row a size."""

    words = (
        "Bandwidth",
        "Device",
        "Memory",
        "Transfer",
    )

    def take(self, text: str, line: int) -> bool:
        if "Bandwidth, " in text and (title := _TITLE.match(text)):
            memory = _NAMES.get((title[1], title[2]), "")
            local = memory == "D D"
            operation, direction = ("local-copy", "both") if local else ("copy", "one")
            name = f"{title[1]} to {title[2]}"
            self.factor = 0.0
            self.open(Curve("bandwidthTest", "", operation, name, direction, memory, hosts=1))
            return True
        if "[CUDA Bandwidth Test]" in text:
            self.close()
            self.begun = True
            return True
        if self.curve is None:
            if self.begun and (device := _DEVICE.match(text)):
                models = self.found.topology.get("models", ())
                self.found.topology["models"] = (*(one for one in models if one != device[1]), device[1])
                return True
            return False
        if kind := _KIND.match(text):
            self.curve = replace(self.curve, placement=f"{kind[1].lower()} host memory")
            return True
        if columns := _COLUMNS.match(text):
            self.factor, words = _UNITS[columns[1]]
            self.curve = replace(self.curve, unit_words=words)
            return True
        values = numbers(text)
        if not values or len(values) != 2 or not self.factor or values[1] < 0:
            return False
        if (size := count(values[0])) is None:
            return False
        return self.add(line, Point(size, None, values[1] * self.factor, line=line))

    factor = 0.0
    begun = False


READER = BandwidthTest
