// All figures as a table, made when somebody opens it: thousands of rows would slow down the page for nobody.

function figuresTable(place, pattern) {
  const chart = page.charts.find((one) => one.pattern === pattern);
  const rows = chart.series.flatMap((one) => [...one.bytes.map((bytes, i) => {
    const seconds = one.seconds[i], moved = (one.moved || one.bytes)[i];
    return [page.sets[one.set].letter, one.path, sizeText(bytes), secondsText(seconds), spreadText(one.low[i], seconds, one.high[i]),
      moved ? rateText(moved / seconds) : "", limitText(one, bytes, moved, seconds), one.marks ? one.marks[i] : ""];
  }), ...(one.impossible || []).map((bytes) => [page.sets[one.set].letter, one.path, sizeText(bytes), "impossible", "", "", "", ""])]);
  const heads = ["run", "path", "size", chart.time, "95 %", "bandwidth", "of limit", ""];
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
