// The page of eleven kernels on twelve nodes, whose runs of half an hour end at very different times: everything that is told
// apart by colour can be, labels stay in view, and nothing is drawn where there is nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, colorsOf, example, open } from "./page.mjs";

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

/** What the page embeds. */
const embedded = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).workloads[0]);

/** Swatches of a chart's legend: colour and dash of each line. */
const lines = (chart) =>
  chart.locator(".legend svg line").evaluateAll((list) => list.map((l) => `${l.getAttribute("stroke")} / ${l.getAttribute("stroke-dasharray")}`));

/** Distance of two colours in Oklab. */
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
  for (const chart of await page.locator(".chart").all()) {
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
    const drawn = await page.locator("#machine .node .swatch").evaluateAll((list) => list.map((e) => getComputedStyle(e).backgroundColor));
    assert.equal(drawn.length, 12);
    const map = page.locator(".maplegend li", { hasText: /^node \d+$/ }).locator(".swatch");
    assert.deepEqual(await map.evaluateAll((list) => list.map((e) => getComputedStyle(e).backgroundColor)), drawn);
    const memory = page.locator(".chart").first().locator(".legend svg line");
    assert.deepEqual(await memory.evaluateAll((list) => list.map((e) => getComputedStyle(e).stroke)), drawn);
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
  // What canvases write from now on.
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
  const plot = page.locator(".plot").first();
  await plot.focus();
  await page.keyboard.press("End");
  for (const moves of [0, 4, 3]) {
    await page.evaluate(() => window.written.clear());
    for (let i = 0; i < moves; i++) await page.keyboard.press("+");
    await page.keyboard.press(moves ? "ArrowLeft" : "-");
    await page.waitForTimeout(200);
    const written = await page.evaluate(() => [...window.written].map(([canvas, all]) => ({ map: canvas.closest(".map") !== null, all })));
    if (moves === 0) continue;
    assert.ok(written.some((w) => w.map) && written.some((w) => !w.map));
    for (const { all } of written) {
      // A map was drawn more than once, one axis after the other.
      const times = all.filter((t) => / s$/.test(t));
      assert.ok(times.length > 1 && times.every((t, i) => t !== times[i - 1]), all.join(" | "));
      assert.ok(times.every((t) => /^\d+(\.\d+)? s$/.test(t)), times.join(" | "));
    }
  }
  assert.deepEqual(trouble, []);
  await close();
});

test("what is after the end of a run is drawn as nothing, and named", async () => {
  const { page, trouble, close } = await open(b, wide.url);
  const w = await embedded(page);
  const runs = w.runs.filter((r) => r.run === 1);
  const ends = runs.map((r) => r.end);
  assert.ok(Math.min(...ends) < 0.8 * w.end, `${ends} of ${w.end}`);
  const legend = page.locator(".maplegend li", { hasText: "after the end of the run" });
  assert.equal(await legend.count(), 1);
  const empty = await page.locator(".maplegend li", { hasText: "not touched yet, or freed" }).locator(".swatch").evaluate((e) => getComputedStyle(e).backgroundColor);
  const early = ends.indexOf(Math.min(...ends));
  const canvas = page.locator(".map canvas").nth(early);
  await canvas.scrollIntoViewIfNeeded();
  await page.waitForTimeout(200);
  const size = await canvas.evaluate((c) => [c.clientWidth, c.clientHeight]);
  const at = (t) => 52 + ((size[0] - 52 - 12) * t) / w.end;
  const count = (from, to) => canvas.evaluate(colorsOf, [from, 10, to - from, size[1] - 44]);
  const rest = await count(at(ends[early]) + 2, size[0] - 14);
  assert.equal(rest[empty.match(/\d+/g).join(",")], undefined, JSON.stringify(rest));
  // Up to the end there are nodes, beyond it lines on the ground of the page.
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
