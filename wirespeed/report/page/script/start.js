// Draws everything: what is seen first at once, the rest as soon as the browser has time, all of it before printing.

const drawn = [];
const waiting = [];

function settle() {
  while (waiting.length) waiting.shift()();
  document.documentElement.dataset.ready = "yes";
}

function next() {
  const until = performance.now() + 30;
  while (waiting.length && performance.now() < until) waiting.shift()();
  if (waiting.length) setTimeout(next, 0);
  else settle();
}

function chooseTheme() {
  const button = document.getElementById("theme");
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
}

function start() {
  chooseTheme();
  const sections = { curves: (box) => curvesSection(box, page.charts[Number(box.dataset.number)]), prices: pricesSection, reached: reachedSection, scaling: scalingSection, matrix: matrixSection, fans: fansSection, wires: wiresSection };
  for (const box of document.querySelectorAll("[data-draw]")) {
    waiting.push(() => {
      for (const chart of sections[box.dataset.draw](box)) drawn.push(chart);
    });
  }
  listenForTables();
  next();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawn.forEach((chart) => chart.render());
  });
  // A chart in a closed section has no width yet.
  document.addEventListener("toggle", ({ target }) => {
    if (target.open) drawn.filter((chart) => target.contains(chart.box) && chart.box.clientWidth !== chart.size?.width).forEach((chart) => chart.render());
  }, true);
  // Paper cannot be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    settle();
    const kinds = [".section", ".chart-choice", ".finding", ".notes", ".best", ".machines"];
    closed = [...document.querySelectorAll(kinds.map((kind) => `details${kind}:not([open])`).join())];
    for (const one of closed) one.open = true;
    drawn.forEach((chart) => chart.render());
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
}

start();
