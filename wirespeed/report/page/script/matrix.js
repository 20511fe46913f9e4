// The heatmap of all pairs. Colours do not depend on light or dark: each cell carries its own text colour.

// Slower than the usual pair by up to this share: colour, and the text on it (blue to yellow, readable without red and green).
const STEPS = [[0.02, "#08519c", "#fff"], [0.05, "#3182bd", "#fff"], [0.1, "#9ecae1", "#000"], [0.25, "#fed976", "#000"], [Infinity, "#e6550d", "#000"]];
const MAX_CELLS_WITH_TEXT = 24;
const MAX_IN_SVG = 64;

function matrixSection(box) {
  const place = make("div", { class: "matrix scrolls" });
  const note = make("p", { class: "note" });
  const several = new Set(page.matrices.map((one) => one.set)).size > 1;
  const choose = make("select", { "aria-label": "Path and size", on: { change: () => show() } },
    ...page.matrices.map((one, i) => make("option", { value: i },
      `${several ? `${page.sets[one.set].letter}: ` : ""}${one.path}, ${sizeText(one.bytes)}`)));
  const show = () => {
    const one = page.matrices[Number(choose.value)];
    place.replaceChildren(one.ranks.length > MAX_IN_SVG ? bigMatrix(one) : smallMatrix(one));
    note.textContent = one.slowest;
  };
  choose.value = String(page.matrices.length - 1);
  box.append(make("div", { class: "controls" }, choose, matrixKey()), place, note);
  show();
  return [];
}

const stepOf = (seconds, usual) => STEPS.find(([limit]) => seconds / usual - 1 <= limit) || STEPS.at(-1);
const pairText = (one, seconds) => (one.small ? secondsText(seconds) : rateText(one.moved / seconds));

function matrixKey() {
  const words = ["up to 2 %", "5 %", "10 %", "25 %", "more"];
  return make("div", { class: "key" }, "slower than the median: ",
    ...STEPS.map(([, back, front], i) => make("span", { style: `background:${back};color:${front}` }, words[i])));
}

function smallMatrix(one) {
  const n = one.ranks.length, cell = n <= 12 ? 52 : n <= MAX_CELLS_WITH_TEXT ? 40 : 16, edge = 34, side = edge + n * cell + 2;
  const svg = draw("svg", { viewBox: `0 0 ${side} ${side}`, width: side, height: side, class: n <= 12 ? "small" : null, role: "img", "aria-label": `All pairs of ${n} ranks: ${one.slowest}` });
  one.ranks.forEach((rank, i) => {
    if (cell < 20 && i % 4) return;
    const middle = edge + (i + 0.5) * cell;
    svg.append(draw("text", { x: middle, y: edge - 8, "text-anchor": "middle", class: "axis" }, String(rank)),
      draw("text", { x: edge - 8, y: middle + 4, "text-anchor": "end", class: "axis" }, String(rank)));
  });
  for (const [a, b, seconds] of one.cells) {
    const [, back, front] = stepOf(seconds, one.usual);
    for (const [row, column] of [[a, b], [b, a]]) {
      const x = edge + column * cell, y = edge + row * cell;
      const g = draw("g", { class: "pair" }, draw("rect", { x, y, width: cell - 1, height: cell - 1, fill: back }),
        draw("title", null, `ranks ${one.ranks[a]} and ${one.ranks[b]}: ${secondsText(seconds)}, ${rateText(one.moved / seconds)}`));
      if (n <= MAX_CELLS_WITH_TEXT) {
        const words = pairText(one, seconds).split(" ")[0];
        g.append(draw("text", { x: x + cell / 2 - 0.5, y: y + cell / 2 + 4, "text-anchor": "middle", fill: front, class: "inside" }, words));
      }
      svg.append(g);
    }
  }
  return svg;
}

function bigMatrix(one) {
  const n = one.ranks.length, cell = Math.max(1, Math.floor(900 / n));
  const canvas = make("canvas", { width: n * cell, height: n * cell, role: "img", "aria-label": `All pairs of ${n} ranks: ${one.slowest}` });
  const paint = canvas.getContext("2d");
  const seconds = new Map();
  for (const [a, b, value] of one.cells) {
    paint.fillStyle = stepOf(value, one.usual)[1];
    paint.fillRect(b * cell, a * cell, cell, cell);
    paint.fillRect(a * cell, b * cell, cell, cell);
    seconds.set(a * n + b, value);
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((part) => Math.floor(part / box.width * n));
    const value = seconds.get(Math.min(x, y) * n + Math.max(x, y));
    canvas.title = value ? `ranks ${one.ranks[Math.min(x, y)]} and ${one.ranks[Math.max(x, y)]}: ${secondsText(value)}, ${rateText(one.moved / value)}` : "";
  });
  return canvas;
}
