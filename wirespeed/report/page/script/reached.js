// What lists of blocks reach of the speed of the same bytes in one message.

function reachedSection(box) {
  const several = new Set(page.reached.map((one) => one.set)).size > 1;
  const link = { range: null, charts: [] };
  const series = page.reached.map((one, place) => ({
    label: several ? `${one.path} ${page.sets[one.set].letter}` : one.path,
    colour: colour(one.path), dash: look(one.path).dash, marker: place,
    x: one.bytes, y: one.share, low: one.low, high: one.high, note: () => "",
  }));
  const plot = make("div", { class: "plot wide" });
  box.append(make("div", { class: "plots" }, plot));
  const limits = [{ y: 100, label: `as fast as ${page.reached[0].name}`, of: series }];
  const title = `Share of ${page.reached[0].name}`;
  const chart = new Lines(plot, { title, unit: "%", axis: "percent", sizes: "block size", series, limits, shown: () => true }, link);
  chart.render();
  return [chart];
}
