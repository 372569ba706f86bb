// Tests of the page of newly simulated records, compared with `numalab compare --json` of the same records.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, drawn, experiment, figure, lowContrast, open, unfold } from "./page.mjs";

let b;
let real;

before(async () => {
  real = experiment();
  b = await browser();
});

after(async () => {
  await b?.close();
  real?.remove();
});

for (const width of [1280, 390]) {
  for (const scheme of ["light", "dark"]) {
    test(`a real page renders at ${width} px, ${scheme}`, async () => {
      const { page, trouble, close } = await open(b, real.url, { width, scheme });
      await unfold(page);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, "no scrolling sideways");
      assert.deepEqual(await page.evaluate(lowContrast, 4.5), []);
      assert.deepEqual(trouble, []);
      await close();
    });
  }
}

test("it answers what was compared, who wins, by how much, how sure, and at what cost", async () => {
  const { page, close } = await open(b, real.url);
  assert.equal(await page.locator("h1").innerText(), "Is 6.3 better than off on numa01_THREAD_ALLOC?");
  const metric = real.json.workloads[0].metrics.find((m) => m.name === "elapsed");
  const [off, on] = ["off", "6.3"].map((k) => metric.kernels[k].mean);
  const said = await page.locator(".headline").innerText();
  assert.match(said, on < off ? /^Take 6\.3: it beats off on numa01_THREAD_ALLOC\.$/ : /^Keep off: 6\.3 is worse on numa01_THREAD_ALLOC\.$/);
  const how = await page.locator("#answer .findings li").innerText();
  assert.match(how, on < off ? /▲ take 6\.3\s+numa01_THREAD_ALLOC\s+6\.3 wins: elapsed / : /● keep off\s+numa01_THREAD_ALLOC\s+off wins; 6\.3 loses: elapsed /);
  const names = await page.locator("#answer .explained").innerText();
  assert.match(names, /off\s*NUMA balancing switched off/);
  assert.match(names, /6\.3\s*Linux 6\.3/);
  const facts = await page.locator("#answer dl.facts").innerText();
  for (const word of ["sim: a model's predictions", "4x1x2x1", "6 of 6"]) assert.ok(facts.includes(word), `${word}: ${facts}`);
  const cost = await page.locator("#cost").innerText();
  for (const word of ["system time", "hint faults", "AutoNUMA cost (mmtests)", "AutoNUMA cost with copies"]) {
    assert.ok(cost.includes(word), word);
  }
  // The statistics are folded behind the sentence.
  const sure = page.locator("#sure");
  assert.match(await sure.locator(".lead").innerText(), /clear \(p (=|<) [\d.]+, 3 runs a side\)/);
  assert.ok(await sure.locator(".findings").isHidden());
  await sure.locator("summary").first().click();
  assert.match(await sure.innerText(), /p (=|<) [\d.]+, corrected for \d+ rows, 3 and 3 runs, 95 % interval of the ratio/);
  for (const word of ["memory = 64MiB", "1 to 3"]) assert.ok((await sure.locator("dl.facts").innerText()).includes(word), word);
  await close();
});

test("before and after stand side by side below the answer, with named rows", async () => {
  const { page, trouble, close } = await open(b, real.url);
  const order = await page.locator("main > section").evaluateAll((list) => list.map((e) => e.id));
  assert.deepEqual(order, ["answer", "picture", "cost", "sure", "time", "tables", "machine", "config", "definitions"]);
  assert.deepEqual(await page.locator("#maps .map figcaption b").allInnerTexts(), ["off-sim", "6.3-sim"]);
  assert.match(await page.locator("#picture .lead").innerText(), /^The .+ ended .+ under off, and .+ under 6\.3\.$/);
  const map = page.locator("#maps .map").first();
  assert.match(await map.locator("figcaption").innerText(), /rows: process \/ mapping/);
  const names = await writes(page, "#maps .map canvas", () => map.locator("canvas").press("ArrowRight"));
  assert.ok(names.some((t) => /^main\.0\/\w+/.test(t)), names.join(" | "));
  // Both have one cursor; the charts below keep theirs.
  await page.waitForFunction(() => document.querySelector("#charts output.time").textContent === "");
  await map.locator("canvas").press("ArrowDown");
  await page.waitForFunction(() => [...document.querySelectorAll("#maps .readout")].every((r) => / s · main\.0\//.test(r.textContent)));
  assert.deepEqual(trouble, []);
  await close();
});

/** The texts that the first canvas of a selector writes while something is done. */
async function writes(page, selector, act) {
  await page.evaluate((selector) => {
    window.labels = [];
    const own = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      if (this.canvas === document.querySelector(selector)) window.labels.push(text);
      return own.call(this, text, ...rest);
    };
  }, selector);
  await act();
  await drawn(page);
  return page.evaluate(() => window.labels);
}

test("every chart the records can fill is there, under one cursor", async () => {
  const { page, trouble, close } = await open(b, real.url);
  const headings = await page.locator("#time h3").allInnerTexts();
  assert.deepEqual(headings, [
    "Memory on each node",
    "Where it was",
    "What NUMA balancing did",
    "Bandwidth of each node's memory",
    "Bandwidth of each link",
    "Thread time by kind",
  ]);
  const chart = page.locator("#charts .chart .u-over").first();
  await chart.scrollIntoViewIfNeeded();
  const at = await chart.boundingBox();
  await page.mouse.move(at.x + at.width / 2, at.y + 40);
  const places = await page
    .locator("#charts .grid:not(details *) .u-cursor-x")
    .evaluateAll((list) => list.map((e) => (e.getBoundingClientRect().right - e.parentElement.getBoundingClientRect().x) / e.parentElement.clientWidth));
  assert.ok(places.length === (await page.locator("#charts .grid:not(details *) .chart canvas").count()) && places.every((x) => Math.abs(x - 0.5) < 0.02), places.join(" "));
  const select = page.getByLabel("Show", { exact: true });
  const titles = await select.locator("option").allInnerTexts();
  assert.equal(titles.length, 3, titles.join("|"));
  for (const label of titles) {
    await select.selectOption({ label });
    const map = page.locator("#charts .map canvas").first();
    await map.scrollIntoViewIfNeeded();
    const box = await map.boundingBox();
    await page.mouse.move(box.x + 100, box.y + 14);
    await page.waitForFunction(() => document.querySelector("#charts .map .readout").textContent !== "");
  }
  assert.deepEqual(trouble, []);
  await close();
});

test("charts that show no change are folded, with the reason", async () => {
  const { page, trouble, close } = await open(b, real.url);
  const folded = page.locator("#charts details.quiet");
  const reasons = (await folded.locator("summary").allInnerTexts()).join(" ");
  assert.match(reasons, /\d+ charts? that shows? no change: .+ \((always 0|never changes|the same under every kernel|no figures)\)/);
  const chart = folded.locator(".chart").first();
  assert.ok(await chart.isHidden());
  await folded.locator("summary").first().click();
  await drawn(page);
  const canvas = await chart.locator("canvas").boundingBox();
  assert.ok(canvas.width > 200, "it is drawn when it is unfolded");
  assert.deepEqual(trouble, []);
  await close();
});

for (const width of [1280, 900, 390]) {
  test(`nothing moves when the cursor brings its figures, at ${width} px`, async () => {
    const { page, close } = await open(b, real.url, { width });
    const tops = () => page.locator("#time figure").evaluateAll((list) => list.map((e) => e.getBoundingClientRect().top + scrollY));
    const chart = page.locator("#charts .chart .u-over").first();
    await chart.scrollIntoViewIfNeeded();
    const before = await tops();
    const at = await chart.boundingBox();
    for (const share of [0.1, 0.5, 0.9]) {
      await page.mouse.move(at.x + at.width * share, at.y + 40);
      await page.waitForFunction(() => document.querySelector(".legend .value").textContent !== "");
      assert.deepEqual(await tops(), before, `${share} of the width`);
    }
    await close();
  });
}

test("an axis of memory has steps that halve and double, and no thousands", async () => {
  const { page, close } = await open(b, real.url);
  const all = await writes(page, "#charts .chart canvas", async () => {
    await page.locator("#charts .plot").first().focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("+");
  });
  const labels = all.filter((t) => !/ s$/.test(t));
  assert.ok(labels.length > 1 && labels.every((t) => /^\d+(\.\d+)?$/.test(t)), all.join(" | "));
  const step = Number(labels[1]) - Number(labels[0]);
  assert.ok(Number.isInteger(Math.log2(step)), labels.join(" | "));
  await close();
});

test("figures of the page are those of the JSON form", async () => {
  const { page, close } = await open(b, real.url);
  await page.locator("summary", { hasText: "Every figure" }).click();
  let compared = 0;
  for (const w of real.json.workloads) {
    const rows = page.locator(`table.every[data-workload="${w.name}"] tbody tr`);
    assert.equal(await rows.count(), w.metrics.length);
    const cells = await rows.evaluateAll((list) => list.map((r) => [...r.querySelectorAll("td[data-mean]")].map((d) => [Number(d.dataset.mean), d.querySelector(".v").textContent, r.querySelector("td").textContent])));
    w.metrics.forEach((m, i) => {
      real.json.kernels.map((k) => m.kernels[k].mean).filter((x) => x !== null).forEach((want, k) => {
        const [exact, shown, unit] = cells[i][k];
        assert.ok(Math.abs(exact - want) <= Math.abs(want) * 1e-14, `${m.name}: ${exact} ${want}`);
        assert.ok(Math.abs(figure(shown, unit, m.unit) - want) <= Math.abs(want) * 0.0006, `${m.name}: ${shown} ${want}`);
        compared++;
      });
    });
  }
  assert.ok(compared > 60, `${compared}`);
  await close();
});

test("settings, reasons and counters are defined in tooltips", async () => {
  const { page, close } = await open(b, real.url);
  const tip = page.locator("#tip");
  const text = async (selector, name) => {
    const term = page.locator(`${selector} a.term`, { hasText: name }).first();
    await term.focus();
    // The page scrolls to the term first.
    await tip.waitFor({ state: "visible" });
    await term.evaluate((e) => e.matches("[aria-describedby=tip]") || Promise.reject(new Error("the tooltip is of another term")));
    return tip.innerText();
  };
  assert.match(await text("#cost", "hint faults"), /Does not count/);
  assert.match(await text("#cost", "AutoNUMA cost (mmtests)"), /The term of the copy never counts/);
  assert.match(await text("#config", "numa_balancing"), /./);
  // What differs is said in words, and what the kernel without balancing never reads is folded.
  const differs = page.locator("#config .config").first();
  assert.match(await differs.innerText(), /system\.numa_balancing/);
  assert.ok((await differs.locator("tbody tr").count()) < 12);
  assert.equal(await page.locator("#machine .node").count(), 4);
  const dead = await page.evaluate(() =>
    [...document.querySelectorAll("a[href^='#']")].filter((a) => !document.getElementById(a.getAttribute("href").slice(1))).map((a) => a.href),
  );
  assert.deepEqual(dead, []);
  await close();
});
