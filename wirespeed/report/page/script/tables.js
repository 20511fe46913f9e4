// All figures as a table, made when somebody opens it: thousands of rows would slow down the page for nobody.

function figuresTable(place, pattern) {
  const chart = page.charts.find((one) => one.pattern === pattern);
  const moved = (one, i) => (one.moved || one.bytes)[i];
  // Columns that facts/figure_columns.py declares.
  const more = [...new Set(chart.series.flatMap((one) => Object.keys(one.columns || {})))];
  // Heads of columns, and their cells.
  const whose = [["run", (one) => page.sets[one.set].letter], ["path", (one) => one.path]];
  const figure = [
    [chart.time, (one, i) => secondsText(one.seconds[i])],
    ["95 %", (one, i) => spreadText(one.low[i], one.seconds[i], one.high[i])],
    ["bandwidth", (one, i) => (moved(one, i) ? rateText(moved(one, i) / one.seconds[i]) : "")],
    ["of limit", (one, i) => limitText(one, one.bytes[i], moved(one, i), one.seconds[i])],
    ...more.map((head) => [head, (one, i) => one.columns?.[head]?.[i] || ""]),
    ["", (one, i) => (one.marks ? one.marks[i] : "")],
  ];
  const row = (one, bytes, cells) => [...whose.map(([, cell]) => cell(one)), sizeText(bytes), ...cells];
  const rows = chart.series.flatMap((one) => [
    ...one.bytes.map((bytes, i) => row(one, bytes, figure.map(([, cell]) => cell(one, i)))),
    ...(one.impossible || []).map((bytes) => row(one, bytes, figure.map((_, i) => (i ? "" : "impossible")))),
  ]);
  const heads = [...whose, ["size"], ...figure].map(([head]) => head);
  place.append(make("div", { class: "scrolls" }, make("table", { class: "figures" },
    make("thead", null, make("tr", null, ...heads.map((head) => make("th", null, head)))),
    make("tbody", null, ...rows.map((row) => make("tr", null, ...row.map((cell) => make("td", null, cell))))))));
}

function listenForTables() {
  for (const details of document.querySelectorAll("details[data-figures]")) {
    details.addEventListener("toggle", () => {
      if (details.open && !details.dataset.filled) {
        details.dataset.filled = "yes";
        figuresTable(details, page.charts[Number(details.dataset.figures)].pattern);
      }
    });
  }
}
