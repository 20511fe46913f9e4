// Buttons that show and hide paths and runs: a click for one, a double click for that one alone.

function swatch(path, marker, dots) {
  const g = draw("svg", { width: 30, height: 12, "aria-hidden": "true" });
  if (path !== null) {
    g.append(draw("line", {
      x1: 1, x2: 29, y1: 6, y2: 6, style: `stroke:${colour(path)}`, "stroke-width": 2.5, "stroke-dasharray": look(path).dash || null,
    }));
  }
  if (dots) g.append(draw("line", { x1: 2, x2: 29, y1: 6, y2: 6, class: "dots" }));
  if (marker !== null) {
    g.append(draw("path", { d: MARKERS[marker % MARKERS.length](15, 6, 3.4), class: marker >= MARKERS.length ? "mark open" : "mark" }));
  }
  return g;
}

// shown: a Set of what is on. options: [{key, label, path, marker, dots, title}].
function toggles(name, options, shown, changed) {
  const buttons = new Map();
  const refresh = () => {
    for (const [key, button] of buttons) button.setAttribute("aria-pressed", String(shown.has(key)));
  };
  const change = (act) => { act(); refresh(); changed(); };
  const flip = (key) => (shown.has(key) ? shown.delete(key) : shown.add(key));
  for (const { key, label, path, marker, dots, title } of options) {
    buttons.set(key, make("button", {
      type: "button", class: "toggle", title: title || null,
      on: {
        click: () => change(() => flip(key)),
        dblclick: () => change(() => { shown.clear(); shown.add(key); }),
      },
    }, swatch(path ?? null, marker ?? null, dots), make("span", null, label)));
  }
  const every = make("button", { type: "button", class: "plain", on: { click: () => change(() => options.forEach(({ key }) => shown.add(key))) } }, "all");
  const none = make("button", { type: "button", class: "plain", on: { click: () => change(() => shown.clear()) } }, "none");
  refresh();
  return make("div", { class: "toggles", role: "group", "aria-label": name },
    make("span", { class: "toggles-name" }, name), ...buttons.values(), ...(options.length > 2 ? [every, none] : []));
}

// Parts of the size axis by name, and all of it; nothing where a part would show no more than a point.
function zoomButtons(link, sizes) {
  if (!(Math.min(...sizes) < 65536 && Math.max(...sizes) > 65536)) return "";
  const parts = [["all sizes", null], ["up to 64 KiB", [1, 65536]], ["from 64 KiB", [65536, null]]];
  const buttons = parts.map(([name, range]) => make("button", {
    type: "button", class: "plain",
    on: { click: () => zoom(link, range && [Math.max(range[0], link.charts[0].x0), range[1] || link.charts[0].x1]) },
  }, name));
  return make("div", { class: "toggles", role: "group", "aria-label": "Zoom" }, make("span", { class: "toggles-name" }, "Zoom"), ...buttons);
}
