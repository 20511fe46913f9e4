// Logarithmic axes: where a value lies, and which values get a line and a label.

function logScale(low, high, from, to) {
  const start = Math.log(low), span = Math.log(high) - start || 1;
  const scale = (value) => from + (to - from) * (Math.log(value) - start) / span;
  scale.invert = (place) => Math.exp(start + span * (place - from) / (to - from));
  return scale;
}

// Powers of two at least `apart` pixels from each other.
function sizeTicks(low, high, scale, apart) {
  const first = Math.ceil(Math.log2(low) - 1e-9), last = Math.floor(Math.log2(high) + 1e-9);
  const width = Math.abs(scale(2) - scale(1));
  const step = [1, 2, 3, 5, 10, 20].find((one) => one * width >= apart) || 40;
  const ticks = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) ticks.push(2 ** power);
  return ticks;
}

// {value, label: whether it gets one}: decades, and 2 and 5 between them where there is room.
function decadeTicks(low, high, scale) {
  const decade = Math.abs(scale(10) - scale(1));
  const every = decade < 18 ? Math.ceil(18 / decade) : 1;
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const part of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const value = part * 10 ** power;
      if (value < low * 0.999 || value > high * 1.001) continue;
      const whole = part === 1 && power % every === 0;
      if (!whole && decade < 60) continue;
      const label = whole || (decade > 110 && (part === 2 || part === 5)) || decade > 420;
      ticks.push({ value: Number(`${part}e${power}`), label, main: part === 1 });
    }
  }
  return ticks;
}

const AXES = {
  seconds: { tick: (value) => tickSeconds(value), text: secondsText, better: "low" },
  rate: { tick: (value) => String(Number((value / 1e9).toPrecision(6))), text: rateText, better: "high" },
  ratio: { tick: (value) => String(Number(value.toPrecision(6))), text: ratioText, better: "high" },
  percent: { tick: (value) => String(Number(value.toPrecision(6))), text: (value) => `${Number(value.toPrecision(3))} %`, better: "high" },
};

function tickSeconds(value) {
  for (const [factor, unit] of [[1, "s"], [1e3, "ms"], [1e6, "us"], [1e9, "ns"]]) {
    if (value * factor >= 0.999 || unit === "ns") return `${Number((value * factor).toPrecision(3))} ${unit}`;
  }
  return "";
}
