"use strict";
// The page's data, and the few helpers with which everything else is drawn. Texts only ever become text nodes.

const page = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const look = (path) => (Object.hasOwn(page.paths, path) ? page.paths[path] : { hue: 0, dash: "" });
const colour = (path) => `var(--hue-${look(path).hue})`;

// The same words as wirespeed/units.py and wirespeed/report/facts/figures.py have.
function sizeText(bytes) {
  const units = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  for (const [unit, name] of units) if (bytes >= unit && bytes % unit === 0) return `${bytes / unit} ${name}`;
  return `${bytes} B`;
}

function secondsText(seconds) {
  for (const [factor, unit] of [[1e6, "us"], [1e3, "ms"], [1, "s"]]) {
    const value = seconds * factor;
    if (value < 999.5 || unit === "s") return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
  }
  return "";
}

function rateText(rate) {
  const value = rate / 1e9;
  if (value > 0 && value < 0.001) return "<0.001 GB/s";
  const digits = [99.95, 9.995, 0.9995, 0.09995].findIndex((limit) => value >= limit);
  return `${value.toFixed(digits < 0 ? 4 : digits)} GB/s`;
}

const ratioText = (ratio) => `${ratio.toFixed(ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : 2)} x`;

// Half of an interval's width as a share of the middle; "uncertain" beyond all of it.
function spreadText(low, middle, high) {
  if (low === null || high === null || low === undefined || high === undefined || low === high) return "";
  const percent = 50 * (high - low) / middle;
  return percent > 100 ? "uncertain" : `±${percent.toPrecision(2)} %`;
}

const percentText = (value) => (value < 0.05 ? "<0.1 %" : `${value.toFixed(1)} %`);

// A curve's figure as a share of its limit; nothing where caches can hold the message.
function limitText(one, bytes, moved, seconds) {
  return one.limit && moved && bytes > one.cached ? percentText(100 * moved / seconds / one.limit) : "";
}
