// One rank and all others: a row for each rank, a column for each path and direction, with the colours of the matrix.

function fansSection(box) {
  const place = make("div", { class: "heat scrolls" });
  const answers = make("div");
  const unit = make("p", { class: "note" });
  const several = new Set(page.fans.map((one) => one.set)).size > 1;
  const choose = make("select", { "aria-label": "Size", on: { change: () => show() } },
    ...page.fans.map((one, i) => make("option", { value: i },
      `${several ? `${page.sets[one.set].letter}: ` : ""}${sizeText(one.bytes)}`)));
  const show = () => {
    const one = page.fans[Number(choose.value)];
    answers.replaceChildren(...one.columns.map((column) => make("p", null, column.answer)));
    place.replaceChildren(fanTable(one));
    unit.textContent = `${one.small ? "Time" : "GB/s of all messages together"}; each colour compares a rank with the median of its column.`;
  };
  choose.value = String(page.fans.length - 1);
  box.append(make("div", { class: "controls" }, choose, matrixKey()), answers, place, unit);
  show();
  return [];
}

function fanTable(one) {
  const cells = one.columns.map((column) => new Map(column.cells));
  const heads = one.columns.map((column) => make("th", null, column.path, make("br"), column.head));
  const rows = one.ranks.map((rank) => make("tr", null, make("th", null, String(rank)),
    ...one.columns.map((column, i) => fanCell(column, rank, cells[i].get(rank), one.small))));
  return make("table", null, make("thead", null, make("tr", null, make("th", null, "rank"), ...heads)), make("tbody", null, ...rows));
}

function fanCell(column, rank, seconds, small) {
  if (seconds === undefined) return make("td");
  const [, back, front] = stepOf(seconds, column.usual);
  const rate = column.moved ? rateText(column.moved / seconds) : "";
  return make("td", { style: `background:${back};color:${front}`, title: `rank ${rank} ${column.head}: ${[secondsText(seconds), rate].filter(Boolean).join(", ")}` },
    small || !column.moved ? secondsText(seconds) : rate.replace(" GB/s", ""));
}
