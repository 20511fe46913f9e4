"use strict";
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const cells = [...document.querySelectorAll(".cell[data-place]")];
  const usual = cells.map(cell => [cell.className, cell.title]);
  const choice = document.getElementById("figure");
  choice.closest("p").hidden = data.figures.length < 2;
  choice.addEventListener("change", () => {
    const figure = choice.selectedIndex - 1;
    cells.forEach((cell, place) => {
      [cell.className, cell.title] = usual[place];
      if (figure < 0) return;
      const ratio = data.ratios[cell.dataset.place][figure];
      const named = cell.classList.contains("named") ? " named" : "";
      const colour = ratio === null ? "none" : data.steps.filter(step => ratio - 1 >= step).length;
      cell.className = `cell c${colour}${named}`;
      const said = ratio === null ? "not judged" : `time x ${ratio.toFixed(3)}`;
      cell.title = `${cell.dataset.name}: ${said}, ${data.figures[figure]}`;
    });
  });
  document.documentElement.dataset.ready = "";
}
