// Bandwidth and time against size, one section a pattern.

// Round dots: no path's own dashes look like them.
const PUBLISHED = "0.1 7";
const NARROW = 560;

function curvesSection(box, chart) {
  const sets = [...new Set(chart.series.map((one) => one.set))];
  const paths = [...new Set(chart.series.map((one) => one.path))];
  const state = { paths: new Set(paths), sets: new Set(chart.shown), published: new Set() };
  const several = sets.length > 1;
  const systems = [...new Set(chart.published.map((one) => one.system))];
  if (chart.series.length <= 6) systems.forEach((one) => state.published.add(one));
  const link = { range: null, charts: [] };
  const rates = [], times = [];
  for (const one of chart.series.filter((each) => each.bytes.length)) {
    const moved = one.moved || one.bytes;
    const common = { path: one.path, set: one.set, label: one.path, colour: colour(one.path), dash: look(one.path).dash, marker: sets.indexOf(one.set) };
    const part = (i) => limitText(one, one.bytes[i], moved[i], one.seconds[i]);
    const launches = (i) => (one.launches && one.launches[i] > 1 ? `${one.launches[i]} launches ` : "");
    const sign = (i) => launches(i) + (one.marks && one.marks[i] ? `${one.marks[i]} ` : "");
    const per = (column) => moved.map((bytes, i) => (column[i] ? bytes / column[i] : null));
    rates.push({ ...common, limit: one.limit, cached: one.cached || 0, x: one.bytes, y: per(one.seconds), low: per(one.high), high: per(one.low), note: (i) => sign(i) + part(i) });
    times.push({ ...common, x: one.bytes, y: one.seconds, low: one.low, high: one.high, note: sign });
  }
  for (const one of chart.published) {
    const empty = one.bytes.map(() => null);
    const common = { path: one.path, system: one.system, published: true, label: `${one.path} ${one.system}`, colour: colour(one.path), dash: PUBLISHED, marker: 0, low: empty, high: empty, x: one.bytes };
    rates.push({ ...common, y: one.rates });
    times.push({ ...common, y: one.seconds });
  }
  const shown = (one) => state.paths.has(one.path) && (one.published ? state.published.has(one.system) : state.sets.has(one.set));
  const limits = [...new Set(rates.map((one) => one.limit).filter(Boolean))].sort((a, b) => a - b).map((rate) => ({
    y: rate, label: `limit ${rateText(rate)}`, of: rates.filter((one) => one.limit === rate),
  }));
  const moves = rates.some((one) => one.y.some((value) => value > 0));
  const plots = make("div", { class: "plots" });
  const charts = [];
  const add = (spec) => {
    const plot = make("div", { class: "plot" });
    plots.append(plot);
    charts.push(new Lines(plot, { ...spec, sizes: chart.sizes, shown }, link));
  };
  if (moves) add({ title: "Bandwidth", unit: "GB/s", axis: "rate", series: rates, limits });
  add({ title: chart.time === "one way" ? "One-way time" : `Time (${chart.time})`, unit: "median", axis: "seconds", series: times, limits: [] });
  // A run's letter stands behind the path's name only while several runs are on.
  const again = () => {
    const lettered = sets.filter((set) => state.sets.has(set)).length > 1;
    for (const one of [...rates, ...times]) {
      if (!one.published) one.label = lettered ? `${one.path} ${page.sets[one.set].letter}` : one.path;
    }
    charts.forEach((one) => one.render());
  };
  const bar = make("div", { class: "controls" });
  bar.append(toggles("Paths", paths.map((path) => ({ key: path, label: path, path })), state.paths, again));
  if (several) {
    const options = sets.map((set, place) => ({ key: set, label: `${page.sets[set].letter}: ${page.sets[set].label}`, marker: place }));
    const chips = toggles("Runs", options, state.sets, again);
    bar.append(sets.length > 10 ? make("details", null, make("summary", null, `${sets.length} runs: choose`), chips) : chips);
  }
  if (systems.length) {
    const title = (system) => chart.published.find((one) => one.system === system);
    bar.append(toggles("Published", systems.map((one) => ({ key: one, label: one, dots: true, title: `${title(one).setting}. ${title(one).source}` })), state.published, again));
  }
  bar.append(zoomButtons(link, times.filter((one) => !one.published).flatMap((one) => one.x)));
  const hint = make("p", { class: "hint" }, "Point at a chart for its figures. Click a name to hide or show it, double-click to see it alone. Drag across a chart to zoom, double-click to see all.");
  box.append(plots, make("details", { class: "chart-choice", open: innerWidth >= NARROW }, make("summary", null, "Choose paths, runs and sizes"), bar, hint));
  again();
  return charts;
}
