// Tests of the HTML report in a browser: rendering, pointer, keyboard, and agreement with the JSON.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser, example, figure, lowContrast, open, unfold } from "./page.mjs";

let b;
let demo;
let hostile;
let large;

before(async () => {
  demo = example();
  hostile = example("hostile");
  large = example("large");
  b = await browser();
});

after(async () => {
  await b?.close();
  for (const e of [demo, hostile, large]) e?.remove();
});

/** Charts of the demo: memory on four nodes, activity, bandwidth of four nodes, thread time of three kinds. */
const CHARTS = 4 + 5 + 4 + 3;

/** The text beside the zoom buttons: cursor and view. */
const time = (page) => page.locator("output.time").innerText();

/** First and last instant in view, s; null if the whole run is in view. */
async function view(page) {
  const match = /view ([\d.]+) s – ([\d.]+) s/.exec(await time(page));
  return match && [Number(match[1]), Number(match[2])];
}

/** Scrolls to an element, and returns its box in the window. */
async function box(locator) {
  await locator.scrollIntoViewIfNeeded();
  const at = await locator.boundingBox();
  assert.ok(at && at.width > 100, "the element is drawn");
  return at;
}

for (const width of [1280, 390]) {
  for (const scheme of ["light", "dark"]) {
    test(`renders at ${width} px, ${scheme}, without trouble and without scrolling sideways`, async () => {
      const { page, trouble, close } = await open(b, demo.url, { width, scheme });
      assert.equal(await page.locator("#charts .chart canvas").count(), CHARTS, "memory, activity, bandwidth, CPU time");
      assert.equal(await page.locator("#charts .map canvas").count(), 3);
      assert.equal(await page.locator("#maps .map canvas").count(), 2, "before and after");
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} px too wide`);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [red] = background.match(/\d+/g).map(Number);
      assert.equal(red > 128, scheme === "light", background);
      assert.deepEqual(trouble, []);
      await close();
    });

    test(`text is readable at ${width} px, ${scheme}`, async () => {
      const { page, close } = await open(b, demo.url, { width, scheme });
      await unfold(page);
      const poor = await page.evaluate(lowContrast, 4.5);
      assert.deepEqual(poor, []);
      await close();
    });
  }
}

for (const width of [1280, 390]) {
  test(`bars of a figure have the same room and say what their marks are, at ${width} px`, async () => {
    const { page, close } = await open(b, demo.url, { width });
    const figures = await page.locator("figure.bars").evaluateAll((list) =>
      list.map((f) => ({
        tracks: [...f.querySelectorAll(".track")].map((t) => t.getBoundingClientRect().width),
        dots: f.querySelectorAll(".dot").length,
        caption: f.querySelector("figcaption").textContent,
      })),
    );
    assert.ok(figures.length > 3);
    for (const { tracks, dots, caption } of figures) {
      assert.ok(tracks.length > 1 && Math.max(...tracks) - Math.min(...tracks) < 0.5, `${caption}: ${tracks}`);
      if (dots > tracks.length) assert.match(caption, /mean ± standard deviation, one run$/);
    }
    await close();
  });
}

test("every figure equals the JSON, and the tables of mmtests follow from it", async () => {
  const { page, close } = await open(b, demo.url);
  await unfold(page);
  let compared = 0;
  for (const w of demo.json.workloads) {
    const rows = await page.locator(`table.every[data-workload="${w.name}"] tbody tr`).evaluateAll((list) =>
      list.map((row) => ({
        name: row.dataset.metric,
        unit: row.querySelector("td").textContent,
        cells: [...row.querySelectorAll("td.num")].map((td) => ({
          exact: Number(td.dataset.mean),
          title: td.title,
          shown: td.querySelector(".v").textContent,
          rest: td.querySelector("small").textContent,
        })),
      })),
    );
    assert.deepEqual(rows.map((r) => r.name), w.metrics.map((m) => m.name));
    w.metrics.forEach((metric, i) =>
      demo.json.kernels.forEach((kernel, k) => {
        const want = metric.kernels[kernel];
        const cell = rows[i].cells[k];
        assert.equal(cell.exact, want.mean, `${w.name} ${metric.name} ${kernel}`);
        assert.deepEqual([Number(cell.title.split(" ")[0]), cell.title.split(" ").slice(1).join(" ")], [want.mean, metric.unit], "the tooltip");
        assert.ok(Math.abs(figure(cell.shown, rows[i].unit) - want.mean) <= Math.max(Math.abs(want.mean) * 0.0006, 1e-9), `${cell.shown} for ${want.mean}`);
        assert.match(cell.rest, new RegExp(`, n ${want.n}(,|$)`));
        if (k > 0 && want.ratio !== null) assert.ok(Math.abs(figure(cell.rest.split("×")[1]) - want.ratio) <= 0.0051, cell.rest);
        compared++;
      }),
    );
    // The rows of means in the comparison table: value, and percent with a plus for better.
    for (const name of ["elapsed", "system"]) {
      const metric = w.metrics.find((m) => m.name === name);
      const heading = page.locator("#tables > h3", { hasText: w.name }).first();
      const table = heading.locator("xpath=following-sibling::details[1]//table");
      const label = metric.kernels[demo.json.kernels[0]].n > 1 ? "Amean" : "Ops";
      const row = table.locator("tbody tr").filter({ has: page.getByText(label, { exact: true }) }).filter({ has: page.getByText(name, { exact: true }) });
      for (let k = 0; k < demo.json.kernels.length; k++) {
        const want = metric.kernels[demo.json.kernels[k]];
        const text = (await row.locator("td").nth(k).innerText()).replace("\n", " ");
        assert.ok(text.startsWith(want.mean.toFixed(2)), `${text} for ${want.mean}`);
        if (k > 0) assert.ok(text.includes(`${want.ratio < 1 ? "▲+" : "▼"}${(100 - 100 * want.ratio).toFixed(2)}%`), `${text} for ${want.ratio}`);
      }
    }
  }
  assert.ok(compared > 100, `${compared}`);
  await close();
});

test("one cursor for all charts and maps, by pointer", async () => {
  const { page, trouble, close } = await open(b, demo.url);
  const chart = page.locator("#charts .chart .u-over").first();
  const at = await box(chart);
  await page.mouse.move(at.x + at.width / 2, at.y + 40);
  const seconds = Number(/cursor ([\d.]+) s/.exec(await time(page))[1]);
  assert.ok(seconds > 20 && seconds < 40, `${seconds}`);
  const values = await page.locator("#charts .legend .value:visible").allInnerTexts();
  assert.ok(values.length > 20 && values.every((v) => v !== ""), values.join("|"));
  const places = await page.locator("#charts .grid:not(details *) .u-cursor-x").evaluateAll((list) =>
    list.map((e) => (e.getBoundingClientRect().right - e.parentElement.getBoundingClientRect().x) / e.parentElement.clientWidth),
  );
  assert.ok(places.length === (await page.locator("#charts .grid:not(details *) .chart").count()) && places.every((x) => Math.abs(x - 0.5) < 0.02), places.join(" "));
  await page.mouse.move(2, 300);
  assert.equal((await page.locator(".legend .value").allInnerTexts()).join(""), "");
  // A map describes the cell under the pointer.
  const map = await box(page.locator("#charts .map canvas").first());
  await page.mouse.move(map.x + map.width / 2, map.y + 20);
  await page.waitForFunction(() => document.querySelector("#charts .map .readout").textContent !== "");
  assert.match(await page.locator("#charts .map .readout").first().innerText(), /^[\d.]+ s · main\.0\/heap\+\d+MiB · (on no node|node \d)$/);
  assert.deepEqual(trouble, []);
  await close();
});

test("zoom by dragging, double-click, buttons and keys; charts and maps keep together", async () => {
  const { page, trouble, close } = await open(b, demo.url);
  const chart = page.locator("#charts .chart .u-over").first();
  const at = await box(chart);
  assert.equal(await view(page), null);
  await page.mouse.move(at.x + at.width * 0.25, at.y + 40);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.5, at.y + 45, { steps: 4 });
  await page.mouse.up();
  const [from, to] = await view(page);
  const whole = 4 * (to - from);
  assert.ok(Math.abs(from - whole / 4) < 0.5 && Math.abs(to - whole / 2) < 0.7, `${from} ${to}`);
  // The left edge of a map is the start of the view.
  const map = await box(page.locator("#charts .map canvas").nth(1));
  const left = await page.locator("#charts .map canvas").nth(1).evaluate((c) => Number(c.dataset.left));
  await page.mouse.move(map.x + left + 2, map.y + 30);
  await page.waitForFunction(() => document.querySelectorAll("#charts .map .readout")[1].textContent !== "");
  const edge = Number.parseFloat(await page.locator("#charts .map .readout").nth(1).innerText());
  assert.ok(Math.abs(edge - from) < 0.5, `${edge} ${from}`);
  const again = await box(chart);
  await page.mouse.dblclick(again.x + 50, again.y + 30);
  assert.equal(await view(page), null);
  await page.getByRole("button", { name: "Zoom in", exact: true }).click();
  const [a, z] = await view(page);
  assert.ok(Math.abs(z - a - whole / 2) < 1, `${a} ${z} of ${whole}`);
  await page.getByRole("button", { name: "Show the whole run" }).click();
  assert.equal(await view(page), null);
  // Dragging on a map zooms time and rows.
  const drag = await box(page.locator("#charts .map canvas").first());
  await page.mouse.move(drag.x + 180, drag.y + 100);
  await page.mouse.down();
  await page.mouse.move(drag.x + 260, drag.y + 160, { steps: 4 });
  await page.mouse.up();
  assert.ok(await view(page));
  await page.mouse.move(drag.x + 200, drag.y + 8);
  await page.waitForFunction(() => /heap\+/.test(document.querySelector("#charts .map .readout").textContent));
  const row = Number(/heap\+(\d+)MiB/.exec(await page.locator("#charts .map .readout").first().innerText())[1]);
  assert.ok(row > 20 * 32, `the first row in view is no longer the first of all: ${row}`);
  assert.deepEqual(trouble, []);
  await close();
});

test("everything works by keyboard", async () => {
  const { page, trouble, close } = await open(b, demo.url);
  const plot = page.locator("#charts .plot").first();
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  const cursor = Number(/cursor ([\d.]+) s/.exec(await time(page))[1]);
  assert.ok(cursor > 2 && cursor < 3, `11 points of 0.2 s: ${cursor}`);
  assert.match(await plot.locator("xpath=../p[@aria-live]").innerText(), /^2\.\d+ s: 6\.3-sim [\d.]+, 6\.4-rc2-sim /);
  await page.keyboard.press("+");
  const [from, to] = await view(page);
  assert.ok(from >= 0 && to < 32, `${from} ${to}`);
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  const moved = await view(page);
  assert.ok(moved[0] > from, "the view follows the cursor");
  await page.keyboard.press("0");
  assert.equal(await view(page), null);
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await time(page), /cursor/);
  const map = page.locator("#charts .map canvas").first();
  await map.focus();
  await page.keyboard.press("Home");
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector("#charts .map .readout").textContent.includes("heap+64MiB"));
  // The Tab key reaches the skip link first.
  await page.reload();
  await page.waitForSelector("html[data-ready=true]");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the answer");
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, input, [tabindex='0'], canvas[role]")]
      .filter((e) => !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.length)
      .map((e) => e.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(unnamed, []);
  assert.deepEqual(trouble, []);
  await close();
});

test("tooltips define words, on hover, on focus and by following the link", async () => {
  const { page, close } = await open(b, demo.url);
  const tip = page.locator("#tip");
  const term = page.locator("#cost a.term", { hasText: "hint faults" }).first();
  await term.hover();
  assert.ok(await tip.isVisible());
  const text = await tip.innerText();
  assert.match(text, /numa_hint_faults/);
  assert.match(text, /since 3\.8/);
  assert.match(text, /Does not count: faults that lost a race/);
  assert.equal(await term.getAttribute("aria-describedby"), "tip");
  const place = await tip.boundingBox();
  assert.ok(place.x >= 0 && place.x + place.width <= 1280 && place.y >= 0 && place.y + place.height <= 900);
  await page.mouse.move(5, 5);
  assert.ok(await tip.isHidden());
  await term.focus();
  assert.ok(await tip.isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await tip.isHidden());
  await term.click();
  assert.ok(await page.locator("#def-numa_hint_faults").isVisible(), "its group was opened");
  // Every link within the page has a target.
  const dead = await page.evaluate(() =>
    [...document.querySelectorAll("a[href^='#']")].filter((a) => !document.getElementById(a.getAttribute("href").slice(1))).map((a) => a.href),
  );
  assert.deepEqual(dead, []);
  await close();
});

test("choices change what is drawn", async () => {
  const { page, trouble, close } = await open(b, demo.url);
  const choose = (name, label) => page.getByLabel(name, { exact: true }).selectOption({ label });
  await choose("Process", "main.1");
  assert.equal(await page.locator("#charts .chart").count(), CHARTS);
  await choose("Show", "Memory: share of each process on each node");
  const map = await box(page.locator("#charts .map canvas").first());
  await page.mouse.move(map.x + 200, map.y + 12);
  await page.waitForFunction(() => document.querySelector("#charts .map .readout").textContent !== "");
  assert.match(await page.locator("#charts .map .readout").first().innerText(), /main\.0 on node 0 · \d+\.\d % of its memory/);
  await choose("Workload", "cow-counter");
  assert.equal(await page.getByLabel("Run", { exact: true }).count(), 0, "it has one run");
  await choose("Workload", "numa01_THREAD_ALLOC");
  await choose("Run", "3 (seed 3)");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY");
  // A line can be hidden.
  const line = page.locator(".legend button").first();
  await line.click();
  assert.equal(await line.getAttribute("aria-pressed"), "false");
  // The look-up table is filtered.
  await page.locator("summary", { hasText: "Every figure: stream" }).click();
  const table = page.locator("table.every[data-workload=stream]");
  await page.getByLabel("Filter figures of stream").fill("LOCAL");
  assert.deepEqual(await table.locator("tbody tr:visible th").allInnerTexts(), ["numa_local_percent", "numa_hint_faults_local"]);
  assert.deepEqual(trouble, []);
  await close();
});

test("the theme can be chosen and is kept", async () => {
  const { page, trouble, close } = await open(b, demo.url);
  const button = page.locator("#theme");
  const ink = () => page.evaluate(() => getComputedStyle(document.body).color);
  const before = await ink();
  await button.click();
  assert.equal(await button.innerText(), "Theme: light");
  await button.click();
  assert.equal(await button.innerText(), "Theme: dark");
  assert.notEqual(await ink(), before);
  assert.equal(await page.locator("#charts .chart canvas").count(), CHARTS, "charts are drawn anew");
  await page.reload();
  await page.waitForSelector("html[data-ready=true]");
  assert.equal(await page.locator("#theme").innerText(), "Theme: dark");
  assert.deepEqual(trouble, []);
  await close();
});

test("hostile names stay text", async () => {
  const { page, trouble, close } = await open(b, hostile.url);
  for (const e of await page.locator("select").all()) {
    const options = await e.locator("option").count();
    await e.selectOption({ index: options - 1 });
  }
  await unfold(page);
  for (const a of (await page.locator("a.term").all()).slice(0, 40)) await a.focus();
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("script").count(), 2, "the data and the bundle");
  assert.match(await page.locator("h1").innerText(), /<\/script><script>window\.broken=1/);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  assert.deepEqual(trouble, []);
  await close();
});

test("without a script everything but the charts is there", async () => {
  const { page, close } = await open(b, demo.url, { javaScriptEnabled: false });
  assert.ok(await page.locator(".headline").isVisible());
  await page.locator("#tables summary").first().click();
  assert.ok(await page.locator("#tables table").first().isVisible());
  assert.match(await page.locator("#picture .lead").innerText(), /^The .+ ended .+ under 6\.3, and /, "the picture in words");
  assert.ok(await page.getByText("The charts need a script").isVisible());
  assert.ok(await page.locator("#theme").isHidden());
  await close();
});

test("an address with a stray per cent sign opens the page as without", async () => {
  const { page, trouble, close } = await open(b, `${demo.url}#%`);
  assert.equal(await page.locator("#charts .chart canvas").count(), CHARTS);
  assert.ok(await page.locator("#theme").isVisible());
  // The page's own listener is older and runs first.
  await page.evaluate(
    () =>
      new Promise((done) => {
        addEventListener("hashchange", done, { once: true });
        location.hash = "#%E0%A4";
      }),
  );
  assert.deepEqual(trouble, []);
  await close();
});

for (const [what, damage] of [
  ["cut off", (data) => data.slice(0, data.length / 2)],
  ["not those of a report", () => "{}"],
  ["gone", () => ""],
]) {
  test(`data that are ${what} cost the charts, visibly, and nothing else`, async () => {
    const file = fileURLToPath(demo.url).replace("report.html", `${what.replaceAll(" ", "-")}.html`);
    const whole = readFileSync(fileURLToPath(demo.url), "utf8");
    const damaged = whole.replace(/(id="data">)([^]*?)(<\/script>)/, (_, before, data, after) => before + damage(data) + after);
    assert.ok(damaged.length < whole.length);
    writeFileSync(file, damaged);
    const { page, trouble, close } = await open(b, pathToFileURL(file).href);
    const said = page.locator("#charts .warning");
    await said.waitFor();
    assert.match(await said.innerText(), /^The charts cannot be drawn: .* \(.+\)\. To write the page anew: numalab report DIR$/);
    assert.equal(trouble.length, 1, `the console has the error: ${trouble}`);
    await page.locator("#theme").click();
    assert.equal(await page.locator("#theme").innerText(), "Theme: light");
    await page.locator("a.term").first().focus();
    await page.locator("#tip").waitFor();
    await page.locator("summary", { hasText: "Every figure: stream" }).click();
    await page.getByLabel("Filter figures of stream").fill("LOCAL");
    const rows = () => [...document.querySelectorAll("table.every[data-workload=stream] tbody tr")].filter((r) => r.offsetParent);
    await page.waitForFunction(`(${rows})().length === 2`);
    await close();
  });
}

test("ten runs of a minute open with all their runs", async () => {
  const { page, trouble, close } = await open(b, large.url);
  assert.equal(await page.locator("#charts .map canvas").count(), 2);
  assert.ok((await page.getByLabel("Run", { exact: true }).locator("option").count()) === 5);
  assert.deepEqual(trouble, []);
  await close();
});
