// A program's step and its efficiency over the number of ranks: a line a path, and the ideal.

function scalingSection(box) {
  const charts = [];
  for (const one of page.scaling) {
    const plots = make("div", { class: "plots" });
    box.append(make("h3", null, one.title), plots);
    const link = { range: null, charts: [] };
    const nothing = one.ideal.ranks.map(() => null);
    const ideal = { label: "ideal", colour: "var(--quiet)", dash: PUBLISHED, marker: 0, published: true, x: one.ideal.ranks, low: nothing, high: nothing };
    const lines = (name) => one.curves.map((curve, place) => ({
      label: curve.label, colour: colour(curve.path), dash: look(curve.path).dash, marker: place,
      x: curve.ranks, y: curve[name], low: curve[`${name}_low`], high: curve[`${name}_high`], note: (i) => curve.marks[i],
    }));
    const add = (spec) => {
      const plot = make("div", { class: "plot" });
      plots.append(plot);
      charts.push(new Lines(plot, { ...spec, limits: [], sizes: "ranks", xText: String, shown: () => true }, link));
    };
    add({ title: "Time of a step", unit: "median", axis: "seconds", series: [...lines("seconds"), { ...ideal, y: one.ideal.seconds }] });
    add({ title: "Efficiency", unit: "%", axis: "percent", series: [...lines("efficiency"), { ...ideal, y: one.ideal.ranks.map(() => 100) }] });
  }
  charts.forEach((chart) => chart.render());
  return charts;
}
