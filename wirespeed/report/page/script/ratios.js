// Charts of ratios that have a section of their own: one curve a pair of paths, or a path and its baseline.

// found: curves of the page's data. curve(one): its name, the path whose looks it has, and its values. spec: title, unit, axis.
function ratioSection(box, found, curve, spec, limit) {
  const several = new Set(found.map((one) => one.set)).size > 1;
  const series = found.map((one, place) => {
    const { name, path, y } = curve(one);
    return {
      label: several ? `${name} ${page.sets[one.set].letter}` : name, colour: colour(path), dash: look(path).dash, marker: place,
      x: one.bytes, y, low: one.low, high: one.high, note: () => "",
    };
  });
  const plot = make("div", { class: "plot wide" });
  box.append(make("div", { class: "plots" }, plot));
  const limits = [{ ...limit, of: series }];
  const chart = new Lines(plot, { ...spec, series, limits, shown: () => true }, { range: null, charts: [] });
  chart.render();
  return [chart];
}

// What something is worth: how many times longer it takes without.
function pricesSection(box) {
  const curve = (one) => ({ name: `${one.without} / ${one.path}`, path: one.without, y: one.ratio });
  const spec = { title: "Times longer without", unit: "ratio of medians", axis: "ratio" };
  return ratioSection(box, page.prices, curve, spec, { y: 1, label: "1: no difference" });
}

// What lists of blocks reach of the speed of the same bytes in one message.
function reachedSection(box) {
  const [{ name }] = page.reached;
  const curve = (one) => ({ name: one.path, path: one.path, y: one.share });
  const spec = { title: `Share of ${name}`, unit: "%", axis: "percent", sizes: "block size" };
  return ratioSection(box, page.reached, curve, spec, { y: 100, label: `as fast as ${name}` });
}
