// Tests of a page with eleven kernels on twelve nodes, whose long runs end at different times: colours can be told apart, labels
// stay in view, and nothing is drawn after the end of a run.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, colorsOf, drawn, example, lowContrast, open, unfold } from "./page.mjs";

let b;
let wide;

before(async () => {
  wide = example("wide");
  b = await browser();
});

after(async () => {
  await b?.close();
  wide?.remove();
});

/** The data that the page embeds. */
const embedded = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).workloads[0]);

/** Swatches of a chart's legend: colour and dash of each line. */
const lines = (chart) =>
  chart.locator(".legend svg line").evaluateAll((list) => list.map((l) => `${l.getAttribute("stroke")} / ${l.getAttribute("stroke-dasharray")}`));

/** Distance of two colours in the colour space Oklab. */
function distance(a, z) {
  const lab = (color) => {
    const [r, g, blue] = color.match(/\d+/g).map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    const l = Math.cbrt(0.4122 * r + 0.5363 * g + 0.0514 * blue);
    const m = Math.cbrt(0.2119 * r + 0.6807 * g + 0.1074 * blue);
    const s = Math.cbrt(0.0883 * r + 0.2817 * g + 0.63 * blue);
    return [0.2105 * l + 0.7936 * m - 0.0041 * s, 1.978 * l - 2.4286 * m + 0.4506 * s, 0.0259 * l + 0.7828 * m - 0.8087 * s];
  };
  const [p, q] = [lab(a), lab(z)];
  return Math.hypot(...p.map((x, i) => x - q[i]));
}

test("no two lines of a chart look the same", async () => {
  const { page, trouble, close } = await open(b, wide.url);
  const charts = await page.locator("#charts .chart").all();
  assert.ok(charts.length > 12, `${charts.length}`);
  for (const chart of charts) {
    const all = await lines(chart);
    assert.ok(all.length > 1);
    assert.equal(new Set(all).size, all.length, `${await chart.locator("figcaption").innerText()}: ${all.join(", ")}`);
  }
  const kernels = await lines(page.locator(".chart", { hasText: "Local-fault share" }));
  assert.equal(kernels.length, 11);
  assert.deepEqual(trouble, []);
  await close();
});

for (const scheme of ["light", "dark"]) {
  test(`a node has one colour everywhere, far from those of the others, ${scheme}`, async () => {
    const { page, close } = await open(b, wide.url, { scheme });
    const inMachine = await page.locator("#machine .node .swatch").evaluateAll((list) => list.map((e) => getComputedStyle(e).backgroundColor));
    assert.equal(inMachine.length, 12);
    const map = page.locator("#charts .maplegend li", { hasText: /^node \d+$/ }).locator(".swatch");
    assert.deepEqual(await map.evaluateAll((list) => list.map((e) => getComputedStyle(e).backgroundColor)), inMachine);
    // Charts of nodes come in the order of the peaks' fold; each has its node's mark before its title.
    const titles = page.locator("#charts .chart figcaption", { hasText: /^\s*node \d+ [GM]iB$/ });
    const marks = await titles.evaluateAll((list) => list.map((e) => [Number(/node (\d+)/.exec(e.textContent)[1]), getComputedStyle(e.querySelector(".swatch")).backgroundColor]));
    assert.equal(marks.length, 12);
    for (const [node, color] of marks) assert.equal(color, inMachine[node], `node ${node}`);
    const all = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("i"));
      return Array.from({ length: 32 }, (_, n) => {
        probe.style.color = `var(--n${n})`;
        return getComputedStyle(probe).color;
      });
    });
    all.forEach((a, i) => all.slice(0, i).forEach((z, k) => assert.ok(distance(a, z) > (i < 8 ? 0.06 : i < 12 ? 0.15 : 0.1), `nodes ${i} and ${k}: ${a}, ${z}, ${distance(a, z)}`)));
    await close();
  });
}

test("ticks differ, and seconds have no thousands", async () => {
  const { page, trouble, close } = await open(b, wide.url);
  // Records the texts that canvases write from now on.
  await page.evaluate(() => {
    window.written = new Map();
    for (const name of ["fillText", "clearRect"]) {
      const real = CanvasRenderingContext2D.prototype[name];
      CanvasRenderingContext2D.prototype[name] = function (...all) {
        if (name === "clearRect") window.written.set(this.canvas, []);
        else window.written.set(this.canvas, [...(window.written.get(this.canvas) ?? []), all[0]]);
        return real.apply(this, all);
      };
    }
  });
  const { end, step } = await embedded(page);
  assert.ok(end > 1300 && step > 1, `${end} ${step}`);
  const plot = page.locator("#charts .plot").first();
  await plot.focus();
  await page.keyboard.press("End");
  for (const moves of [0, 4, 3]) {
    await page.evaluate(() => window.written.clear());
    for (let i = 0; i < moves; i++) await page.keyboard.press("+");
    await page.keyboard.press(moves ? "ArrowLeft" : "-");
    await drawn(page);
    const written = await page.evaluate(() => [...window.written].map(([canvas, all]) => ({ map: canvas.closest(".map") !== null, all })));
    if (moves === 0) continue;
    assert.ok(written.some((w) => w.map) && written.some((w) => !w.map));
    for (const { all } of written) {
      // A map may have been drawn several times, so its list may hold several axes.
      const times = all.filter((t) => / s$/.test(t));
      assert.ok(times.length > 1 && times.every((t, i) => t !== times[i - 1]), all.join(" | "));
      assert.ok(times.every((t) => /^\d+(\.\d+)? s$/.test(t)), times.join(" | "));
    }
  }
  assert.deepEqual(trouble, []);
  await close();
});

test("no label of a time axis is cut, also where a tick stands at the end", async () => {
  const { page, trouble, close } = await open(b, wide.url);
  // Records the labels that canvases write from now on, and how far each extends beyond the right edge, px.
  await page.evaluate(() => {
    window.beyond = [];
    const real = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
      if (/ s$/.test(text)) {
        const half = this.textAlign === "right" ? 0 : this.measureText(text).width / 2;
        const at = this.getTransform().transformPoint({ x: x + half, y: 0 }).x;
        window.beyond.push([text, at - this.canvas.width]);
      }
      return real.call(this, text, x, ...rest);
    };
  });
  const plot = page.locator("#charts .plot").first();
  await plot.focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 6; i++) await page.keyboard.press("+");
  for (let i = 0; i < 40; i++) await page.keyboard.press("Shift+ArrowRight");
  await drawn(page);
  const cut = await page.evaluate(() => [window.beyond.length, window.beyond.filter(([, by]) => by > 0.5)]);
  assert.ok(cut[0] > 50, `${cut[0]} labels`);
  assert.deepEqual(cut[1], []);
  assert.deepEqual(trouble, []);
  await close();
});

for (const width of [1280, 390]) {
  test(`labels and heads of tables stay in view, at ${width} px`, async () => {
    const { page, close } = await open(b, wide.url, { width });
    await unfold(page);
    const tables = await page.locator(".scroll").evaluateAll((list) =>
      list.map((e) => {
        e.scrollTo({ left: e.scrollWidth, top: e.scrollHeight, behavior: "instant" });
        const place = (x) => x.getBoundingClientRect();
        const [outer, head] = [place(e), e.querySelector("thead tr")];
        const last = e.querySelector("tbody tr:last-child");
        const seen = (x) => {
          const { left, right, top, bottom } = place(x);
          return { left: left - outer.left, right: right - outer.left, top: top - outer.top, bottom: bottom - outer.top };
        };
        return {
          name: `${e.getAttribute("aria-label")} ${e.querySelector("table").className}`,
          scrolled: [e.scrollLeft, e.scrollTop],
          size: [e.clientWidth, e.clientHeight],
          window: innerHeight,
          labels: [last.firstElementChild, ...last.querySelectorAll("th > span")].map(seen),
          label: seen(last.firstElementChild),
          head: seen(head.lastElementChild),
          corner: seen(head.firstElementChild),
          words: [...last.querySelectorAll("th")].length,
        };
      }),
    );
    assert.ok(tables.filter((t) => t.scrolled[0] > 0).length >= 3, "tables wider than the page");
    assert.ok(tables.filter((t) => t.scrolled[1] > 0).length >= 1, "tables higher than the window");
    for (const t of tables) {
      for (const at of [...t.labels, t.corner]) assert.ok(at.left >= 0 && at.left < 16 + 110 && at.right <= t.size[0], `${t.name}: ${JSON.stringify(at)}`);
      assert.ok(t.label.left < 3 && t.corner.left < 3 && t.head.top < 3, `${t.name}: ${JSON.stringify(t)}`);
      assert.ok(t.size[1] < t.window && t.words === 1, t.name);
      if (t.scrolled[0] > 0) assert.ok(t.label.right < t.size[0] * 0.5, `${t.name}: room for figures beside ${t.label.right} of ${t.size[0]} px`);
    }
    await close();
  });
}

test("what is after the end of a run is drawn as nothing, and named", async () => {
  const { page, trouble, close } = await open(b, wide.url);
  const w = await embedded(page);
  const runs = w.runs.filter((r) => r.run === 1);
  const ends = runs.map((r) => r.end);
  assert.ok(Math.min(...ends) < 0.8 * w.end, `${ends} of ${w.end}`);
  const legend = page.locator("#charts .maplegend li", { hasText: "after the end of the run" });
  assert.equal(await legend.count(), 1);
  const empty = await page.locator("#charts .maplegend li", { hasText: "not touched yet, or freed" }).locator(".swatch").evaluate((e) => getComputedStyle(e).backgroundColor);
  const early = ends.indexOf(Math.min(...ends));
  const canvas = page.locator("#charts .map canvas").nth(early);
  await canvas.scrollIntoViewIfNeeded();
  await drawn(page);
  const size = await canvas.evaluate((c) => [c.clientWidth, c.clientHeight]);
  // The names of rows take as much room as they need; the cells begin where the empty colour or a node's does.
  const left = await canvas.evaluate((c) => Number(c.dataset.left));
  const at = (t) => left + ((size[0] - left - 26) * t) / w.end;
  const count = (from, to) => canvas.evaluate(colorsOf, [from, 10, to - from, size[1] - 44]);
  const rest = await count(at(ends[early]) + 2, size[0] - 28);
  assert.equal(rest[empty.match(/\d+/g).join(",")], undefined, JSON.stringify(rest));
  // Up to the end of the run there are colours of nodes, and after it hatching on the background of the page.
  const before = await count(at(ends[early]) - 10, at(ends[early]) - 2);
  const node = await page.locator("#machine .node .swatch").evaluateAll((list) => list.map((e) => getComputedStyle(e).backgroundColor.match(/\d+/g).join(",")));
  assert.ok(node.some((c) => before[c] > 0), JSON.stringify(before));
  assert.ok(node.every((c) => rest[c] === undefined), JSON.stringify(rest));
  assert.deepEqual(trouble, []);
  await close();
});

test("the axis ends with the longest run, and a line with its own", async () => {
  const { page, close } = await open(b, wide.url);
  const w = await embedded(page);
  assert.equal(w.end, Math.max(...w.runs.map((r) => r.end)));
  const early = w.runs.filter((r) => r.run === 1).reduce((a, r) => (r.end < a.end ? r : a));
  const chart = page.locator(".chart", { hasText: "Hint faults" }).nth(1);
  const over = chart.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const values = async (t) => {
    await page.mouse.move(box.x + (box.width * t) / w.end, box.y + 40);
    return chart.locator(".legend .value").allInnerTexts();
  };
  const kernel = w.runs.filter((r) => r.run === 1).indexOf(early);
  assert.notEqual((await values(early.end - 2 * w.step))[kernel], "–");
  assert.equal((await values(early.end + 2 * w.step))[kernel], "–");
  assert.ok((await values(w.end - w.step / 2)).some((v) => v !== "–"));
  await close();
});

test("paper is light, whatever the theme, and has the bars", async () => {
  const { page, trouble, close } = await open(b, wide.url, { scheme: "dark", reducedMotion: "reduce" });
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  assert.equal(await page.locator("#theme").innerText(), "Theme: dark");
  const ink = () => page.locator("#charts .map canvas").first().evaluate(colorsOf);
  const dark = await ink();
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await page.evaluate(lowContrast, 4.5), []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  for (const kept of [".track .fill", ".stack i", ".key.user", "td.star", ".swatch"]) {
    const adjust = await page.locator(kept).first().evaluate((e) => getComputedStyle(e).printColorAdjust);
    assert.equal(adjust, "exact", kept);
  }
  await page.emulateMedia({ media: "screen" });
  // Canvases are redrawn in the colours of paper at once, and in the former colours afterwards.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const node = (n) => page.evaluate((v) => Object.assign(document.body.appendChild(document.createElement("i")), { style: `color:var(${v})` }) && getComputedStyle(document.body.lastChild).color.match(/\d+/g).join(","), `--n${n}`);
  const light = await node(0);
  const printed = await ink();
  assert.ok(printed[light] > 0 && !(dark[light] > 0), `${light}`);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.ok((await ink())[await node(0)] > 0);
  assert.ok(!((await ink())[light] > 0));
  assert.deepEqual(trouble, []);
  await close();
});
