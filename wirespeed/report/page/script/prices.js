// What something is worth: how many times longer it takes without.

function pricesSection(box) {
  const several = new Set(page.prices.map((one) => one.set)).size > 1;
  const link = { range: null, charts: [] };
  const series = page.prices.map((one, place) => ({
    label: several ? `${one.without} / ${one.path} ${page.sets[one.set].letter}` : `${one.without} / ${one.path}`,
    colour: colour(one.without), dash: look(one.without).dash, marker: place,
    x: one.bytes, y: one.ratio, low: one.low, high: one.high, note: () => "",
  }));
  const plot = make("div", { class: "plot wide" });
  box.append(make("div", { class: "plots" }, plot));
  const limits = [{ y: 1, label: "1: no difference", of: series }];
  const chart = new Lines(plot, { title: "Times longer without", unit: "ratio of medians", axis: "ratio", series, limits, shown: () => true }, link);
  chart.render();
  return [chart];
}
