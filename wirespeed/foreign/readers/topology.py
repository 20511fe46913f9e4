"""nvidia-smi topo -m and nvlink -s, ibstat, ibstatus, ucx_info -d: devices and the wires between them."""

from __future__ import annotations

import re

from wirespeed.foreign.found import MOST, LogStream, Reader

_NAME = re.compile(r"(?:GPU|NIC)\d+$|(?:mlx[45]_|bnxt_re|irdma|rocep|ibp|efa_|rdmap)\w*$")
_LINK = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|N/A|SOC|PSB")
_GLUED = re.compile(
    r"(?:NODE|SYS|PHB|PXB|PIX)(?=(?:NODE|SYS|PHB|PXB|PIX)+$)|(?<=[EBSX])(?:NODE|SYS|PHB|PXB|PIX)$"
)
"""Cells between which a post has lost the blank."""
_LEGEND = re.compile(r"\s*(NIC\d+): (\S+)$")
_GPU = re.compile(r"\s*GPU (\d+): (.+?) \(UUID: [^)]*\)")
_NVLINK = re.compile(r"\s*Link (\d+): (?:(\d+\.?\d*) GB/s|<?(inactive)>?)")
_CA = re.compile(r"\s*CA '([\w.-]+)'")
_STATUS = re.compile(r"Infiniband device '([\w.-]+)' port (\d+) status")
_PORT = re.compile(r"\s*Port (\d+):\s*$")
_FIELD = re.compile(r"\s*(State|state|Physical state|phys state|Rate|rate|Link layer|link_layer):\s+(.+)$")
_UCX = re.compile(r"#\s+(Transport|Device|Type|bandwidth|System device): (.+)$")
_FIRST = re.compile(
    r"\s*(?:NIC\d|GPU \d|Link|CA '|Port \d|[Ss]tate:|Ph|ph|[Rr]ate:|link|#\s+[TDbS])|.*Infiniband device '"
)
"""How a line that is not of a matrix begins."""
_UCX_RATE = re.compile(r"(\d+\.?\d*)(?:/ppn)? \+ (\d+\.?\d*)(?:/ppn)? (MB|GB)/sec")
_MOST = 4096


class TopologyReader(Reader):
    """Each of these tools prints blocks of its own; none holds figures of a measurement."""

    words = (
        "GPU",
        "NIC",
        "mlx",
        "Link",
        "CA",
        "Infiniband",
        "Port",
        "State",
        "state",
        "Physical",
        "phys",
        "Rate",
        "rate",
        "layer",
        "link_",
        "Transport",
        "Device",
        "bandwidth",
        "Type",
        "System",
    )

    def __init__(self, stream: LogStream) -> None:
        super().__init__(stream)
        self.columns: list[str] = []
        self.gpu: int | None = None
        self.port: dict[str, object] | None = None
        self.adapter = ""
        self.ucx: dict[str, str] = {}

    def take(self, text: str, line: int) -> bool:
        tokens = text.split()
        if not tokens:
            return False
        if _NAME.match(tokens[0]) and self._matrix(text, tokens, line):
            return True
        # Most lines with such a word are no line of these tools.
        return _FIRST.match(text) is not None and (
            self._legend(text) or self._nvlink(text) or self._ibstat(text) or self._ucx(text)
        )

    def _matrix(self, text: str, tokens: list[str], line: int) -> bool:
        names = []
        for token in tokens:
            if not _NAME.match(token):
                break
            names.append(token)
        if len(names) >= 2 and (len(names) == len(tokens) or tokens[len(names)] in ("CPU", "NUMA", "GPU")):
            self.columns = names
            return True
        if len(names) != 1 or not self.columns:
            return False
        cells = tokens[1 : 1 + len(self.columns)]
        if not self._are_links(cells):
            tokens = [part for token in tokens for part in _GLUED.findall(token) or [token]]
            cells = tokens[1 : 1 + len(self.columns)]
        if not self._are_links(cells):
            if len(tokens) > 2 and _LINK.fullmatch(tokens[1]) and len(self.found.unknown) < MOST:
                self.found.unknown.append((line, text.strip()))
            return False
        topology, name = self.found.topology, names[0]
        links = topology.setdefault("links", {})
        if len(links) < _MOST * 16:
            links |= {
                (name, other): cell for other, cell in zip(self.columns, cells, strict=True) if cell != "X"
            }
        kind = "gpus" if name.startswith("GPU") else "nics"
        if name not in topology.get(kind, ()):
            topology[kind] = (*topology.get(kind, ()), name)
        rest = tokens[1 + len(self.columns) :]
        if kind == "gpus" and len(rest) >= 2:
            topology.setdefault("cpus", {})[name] = rest[0]
            topology.setdefault("numa", {})[name] = rest[1]
        return True

    def _are_links(self, cells: list[str]) -> bool:
        return len(cells) == len(self.columns) and all(map(_LINK.fullmatch, cells))

    def _legend(self, text: str) -> bool:
        if found := _LEGEND.match(text):
            self.found.topology.setdefault("legend", {})[found[1]] = found[2]
        return found is not None

    def _nvlink(self, text: str) -> bool:
        if found := _GPU.match(text):
            self.gpu = int(found[1])
            self.found.model(found[2])
            return True
        found = _NVLINK.match(text)
        if found is None or self.gpu is None or self.gpu >= _MOST:
            return False
        rates = self.found.topology.setdefault("nvlink", {})
        rates[self.gpu] = (*rates.get(self.gpu, ()), float(found[2] or 0) * 1e9)
        return True

    def _ibstat(self, text: str) -> bool:
        ports = self.found.topology.get("ports", ())
        if found := _CA.match(text):
            self.adapter, self.port = found[1], None
            return True
        if (found := _STATUS.search(text)) or ((found := _PORT.match(text)) and self.adapter):
            name = found[1] if found.re is _STATUS else self.adapter
            number = found[2] if found.re is _STATUS else found[1]
            self.port = {"name": name, "port": int(number), "state": "", "rate": 0.0, "layer": ""}
            if len(ports) < _MOST:
                self.found.topology["ports"] = (*ports, self.port)
            return True
        found = _FIELD.match(text)
        if found is None or self.port is None:
            return False
        key, value = found[1].lower(), found[2].strip()
        if key == "state":
            self.port["state"] = value.partition(":")[2].strip() or value
        elif key == "rate" and (rate := re.match(r"(\d+\.?\d*)", value)):
            self.port["rate"] = float(rate[1]) / 8 * 1e9
        elif key.startswith("link"):
            self.port["layer"] = value
        return True

    def _ucx(self, text: str) -> bool:
        found = _UCX.match(text.strip())
        if found is None:
            return False
        if found[1] == "Transport":
            self.ucx = {}
        self.ucx[found[1]] = found[2].strip()
        if found[1] == "bandwidth" and (rate := _UCX_RATE.match(found[2])) and "Transport" in self.ucx:
            value = max(float(rate[1]), float(rate[2])) * (2**30 if rate[3] == "GB" else 2**20)
            known = self.found.topology.get("ucx", ())
            if len(known) < _MOST:
                made = (self.ucx["Transport"], self.ucx.get("Device", ""), value)
                self.found.topology["ucx"] = (*known, made)
        return True


READER = TopologyReader
