// The machine's wires, coloured by the bytes that counters saw on each while a path was measured.

const wireKind = (kind) => (Object.hasOwn(page.kinds, kind) ? page.kinds[kind] : { name: kind, gpu: false });
const WIRE_STEPS = [[0.01, "none", "under 1 %"], [0.1, "few", "1 to 10 %"], [0.5, "some", "10 to 50 %"], [Infinity, "most", "50 % and more"]];
const MANY_PARTS = 6;

function wiresSection(box) {
  const place = make("div", { class: "scrolls" });
  const words = make("p", { class: "verdict-line" });
  const name = (one) => `${page.sets[one.set].letter}: ${page.sets[one.set].pattern}, ${page.sets[one.set].label}`;
  const run = make("select", { "aria-label": "Run", on: { change: () => list() } }, ...page.wires.map((one, i) => make("option", { value: i }, name(one))));
  const choose = make("select", { "aria-label": "Path and size", on: { change: () => show() } });
  const one = () => page.wires[Number(run.value)];
  const show = () => {
    const each = one().cases[Number(choose.value)];
    words.textContent = `${each.path} at ${sizeText(each.bytes)}: ${each.text}`;
    place.replaceChildren(wiresDrawing(one(), each));
  };
  const list = () => {
    const cases = one().cases;
    choose.replaceChildren(...cases.map((each, i) => make("option", { value: i }, `${each.path}, ${sizeText(each.bytes)}`)));
    const telling = cases.map((each) => each.path).lastIndexOf("aware");
    choose.value = String(telling < 0 ? cases.length - 1 : telling);
    show();
  };
  box.append(make("div", { class: "controls" }, page.wires.length > 1 ? run : null, choose), words, place,
    make("div", { class: "key" }, "share of the bytes sent: ", ...WIRE_STEPS.map(([, kind, text]) => make("span", { class: `wire-${kind}` }, text))));
  list();
  return [];
}

function amountText(bytes) {
  for (const [unit, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    const value = bytes / unit;
    if (value >= 0.9995) return `${value >= 999.5 ? value.toFixed(0) : value.toPrecision(3)} ${name}`;
  }
  return `${bytes} B`;
}

// Each host a frame: network above, then GPUs and adapters, the host's memory below.
function wiresDrawing(one, each) {
  const carried = new Map(each.carried.map(([wire, ...bytes]) => [wire, bytes]));
  const hosts = [...new Set([...one.wires.map((wire) => wire.host), ...one.ranks.map((rank) => rank.host)])];
  const share = (wire) => (carried.get(wire) || [0, 0, 0, 0])[3];
  const level = (wire) => WIRE_STEPS.find(([limit]) => share(wire) < limit)[1];
  const left = 10;
  let top = 4, across = 0;
  const svg = draw("svg", { class: "wires", role: "img", "aria-label": `Wires: ${each.text}` });
  for (const host of hosts) {
    const wires = one.wires.map((wire, i) => ({ ...wire, i })).filter((wire) => wire.host === host);
    const gpus = one.ranks.filter((rank) => rank.host === host && rank.device !== null).map((rank) => `GPU ${rank.device}`);
    const parts = [...new Set([...gpus, ...wires.map((wire) => wire.name)])];
    const BOX = parts.length > MANY_PARTS ? 86 : 112, GAP_X = parts.length > MANY_PARTS ? 26 : 30;
    const width = Math.max(2, parts.length) * (BOX + GAP_X) + GAP_X + (parts.length > MANY_PARTS ? 16 : 0);
    const line = top + 44, middle = line + 74, memory = middle + 44 + 66;
    svg.append(draw("rect", { x: left, y: top, width, height: memory + 44 - top, rx: 8, class: "host" }),
      draw("text", { x: left + 12, y: top + 18, class: "name" }, host));
    const above = [...new Set(wires.filter((wire) => wire.kind !== "pcie").map((wire) => wire.kind))];
    above.forEach((kind, place) => {
      const mine = parts.filter((part) => wires.some((wire) => wire.kind === kind && wire.name === part));
      const xs = mine.map((part) => left + GAP_X + parts.indexOf(part) * (BOX + GAP_X) + BOX / 2 + place * 8);
      const y = line + place * 14;
      const joined = wireKind(kind).gpu;
      const levels = wires.filter((wire) => wire.kind === kind).map((wire) => WIRE_STEPS.findIndex(([, name]) => name === level(wire.i)));
      const busy = WIRE_STEPS[Math.max(0, ...levels)][1];
      svg.append(draw("line", { x1: Math.min(...xs) - (joined ? 0 : 20), x2: Math.max(...xs) + (joined ? 0 : 20), y1: y, y2: y, class: `wire wire-${busy}` }),
        draw("text", { x: Math.min(...xs) + 8, y: y - 6, class: "axis" }, wireKind(kind).name));
    });
    parts.forEach((part, number) => {
      const x = left + GAP_X + number * (BOX + GAP_X);
      const gpu = gpus.includes(part) || wires.some((wire) => wire.name === part && wireKind(wire.kind).gpu);
      const ranks = one.ranks.filter((rank) => rank.host === host && `GPU ${rank.device}` === part).map((rank) => rank.rank);
      for (const wire of wires.filter((each) => each.name === part)) {
        const down = wire.kind === "pcie", place = Math.max(0, above.indexOf(wire.kind));
        const at = x + BOX / 2 + (down ? 0 : place * 8), [from, to] = down ? [middle + 44, memory] : [line + place * 14, middle];
        const [sent, received, background] = carried.get(wire.i) || [0, 0, 0];
        svg.append(draw("g", null, draw("line", { x1: at, x2: at, y1: from, y2: to, class: `wire wire-${level(wire.i)}` }),
          draw("title", null, `${wireKind(wire.kind).name} of ${part}: ${sent} B out, ${received} B in, background ${background} B${wire.rate ? `, link rate ${rateText(wire.rate)}` : ""}`),
          draw("text", { x: at + 7, y: (down ? from : to) + (down ? 22 : -24), class: "amount" }, `out ${amountText(sent)}`),
          draw("text", { x: at + 7, y: (down ? from : to) + (down ? 36 : -10), class: "amount" }, `in ${amountText(received)}`)));
      }
      svg.append(draw("rect", { x, y: middle, width: BOX, height: 44, rx: 5, class: gpu ? "part gpu" : "part" }),
        draw("text", { x: x + BOX / 2, y: middle + (ranks.length ? 19 : 27), "text-anchor": "middle", class: "name" }, part.length > 13 ? `${part.slice(0, 12)}…` : part));
      if (ranks.length) svg.append(draw("text", { x: x + BOX / 2, y: middle + 35, "text-anchor": "middle", class: "axis" }, `rank ${ranks.join(", ")}`));
    });
    svg.append(draw("rect", { x: left + GAP_X, y: memory, width: width - 2 * GAP_X, height: 30, rx: 5, class: "part" }),
      draw("text", { x: left + width / 2, y: memory + 20, "text-anchor": "middle", class: "name" }, "host memory"));
    across = Math.max(across, width + 2 * left);
    top = memory + 60;
  }
  fill(svg, { viewBox: `0 0 ${across} ${top}`, width: across, height: top }, []);
  return svg;
}
