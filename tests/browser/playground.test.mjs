// The playground in headless Chromium, from disk and without a network: every lesson is driven to its end, its outcomes are those of
// the native build, and the page is usable with a keyboard, at 390 px, without motion, and in both themes.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, lowContrast } from "./page.mjs";
import { folder, native, onTerminal, read, setupOf } from "./playground.mjs";
import { figure } from "../../playground/src/lessons.js";
import { requests } from "../../playground/src/setup.js";

const { list, files } = read();
const url = pathToFileURL(join(folder, "index.html")).href;
let b;
before(async () => (b = await browser()));
after(() => b?.close());

/** Opens the page; collects errors, and requests that leave the folder. */
async function open(fragment = "", { width = 1280, height = 900, scheme = "light", ...more } = {}) {
  const context = await b.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true, ...more });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && trouble.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => trouble.push(`uncaught: ${e.message}`));
  page.on("request", (r) => !/^(file|blob|data):/.test(r.url()) && trouble.push(`request: ${r.url()}`));
  await page.goto(url + fragment);
  await page.waitForSelector("html[data-ready=true]", { timeout: 30000 });
  return { page, trouble, close: () => context.close() };
}

/** Plays to the end as fast as it goes. */
async function toTheEnd(page) {
  await page.evaluate(() => {
    document.getElementById("speed").value = String(document.getElementById("speed").options.length - 1);
    playground.state.stopNs = Infinity;
    playground.state.pending = null;
    playground.player.playing = true;
  });
  await page.waitForSelector("#verdict:not([hidden])", { timeout: 120000 });
}

const outcomes = (page) => page.evaluate(() => playground.outcomes());

describe("lessons in a browser", () => {
  for (const lesson of list) {
    it(`${lesson.id}: steps, outcome, claims, change`, async () => {
      const { page, trouble, close } = await open(`#lesson=${lesson.id}`);
      assert.equal(await page.locator("#lesson h1").innerText(), lesson.title);
      for (const step of lesson.steps) {
        assert.equal(await page.locator("#lesson h2").innerText(), step.title);
        await page.locator("#next").click();
      }
      assert.equal(await page.locator("#lesson h2").innerText(), "Your turn");
      await toTheEnd(page);
      const first = await outcomes(page);
      requests(setupOf(lesson, files)).forEach((asked, i) => assert.equal(first[i], native(asked), "the outcome has the bytes of the native build"));
      assert.equal(await page.locator("#claims li.ok").count(), lesson.claims.length, await page.locator("#claims").innerText());
      await page.locator("#change").click();
      await toTheEnd(page);
      const second = await outcomes(page);
      requests(setupOf(lesson, files, true)).forEach((asked, i) => assert.equal(second[i], native(asked)));
      assert.equal(await page.locator("#claims li.ok").count(), lesson.change.claims.length, await page.locator("#claims").innerText());
      assert.deepEqual(trouble, []);
      await close();
    });
  }
});

describe("the page", () => {
  it("says what the command says, and its command makes the same run", async () => {
    const { page, close } = await open("#machine=2x1x2x1&workload=first-touch&param=duration%3D3s&kernel1=off&kernel2=6.12");
    await toTheEnd(page);
    const terminal = onTerminal({ machine: "2x1x2x1", machineText: "", workload: "first-touch", workloadText: "", param: [["duration", "3s"]], set: [], sides: [{ kernel: "off", set: [] }, { kernel: "6.12", set: [] }], seed: 1, quiet: false });
    const words = (text) => text.replace(/\s+/g, " ").trim();
    for (const row of await page.locator("#verdict dd").allInnerTexts()) assert.ok(words(terminal.answer).includes(words(row)), row);
    assert.deepEqual((await page.evaluate(() => playground.ids())).sort(), terminal.ids.sort());
    const elapsed = terminal.comparison.workloads[0].metrics.find((m) => m.name === "elapsed").kernels["6.12"].mean;
    assert.equal(figure(JSON.parse((await outcomes(page))[1]), "elapsed_s"), elapsed);
    await close();
  });

  it("refuses with the words of the command, and goes on after a correction", async () => {
    const { page, close } = await open("#workload=numa2&machine=2x1x2x1&kernel1=6.12");
    await page.waitForSelector("#wrong:not([hidden])");
    assert.match(await page.locator("#wrong").innerText(), /^--workload: unknown workload `numa2`; expected .* did you mean `numa02`\?$/);
    await page.evaluate(() => (location.hash = "#workload=numa02&machine=2x1x2x1&kernel1=6.12&param=loops%3D50"));
    await page.waitForSelector("#wrong", { state: "hidden" });
    await toTheEnd(page);
    await close();
  });

  it("scrubs: the clock goes back, and the picture with it", async () => {
    const { page, close } = await open("#lesson=first-touch");
    await toTheEnd(page);
    const label = () => page.locator("#sides canvas").nth(1).getAttribute("aria-label");
    await page.waitForTimeout(600);
    const late = await label();
    await page.locator("#scrub").focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 30; i++) await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(700);
    const early = await label();
    assert.notEqual(early, late);
    assert.ok(parseFloat(/at ([\d.]+) s/.exec(early)[1]) < 1, early);
    await close();
  });

  it("is worked with the keyboard alone", async () => {
    const { page, close } = await open("#lesson=scan-and-fault");
    await page.evaluate(() => document.activeElement.blur());
    for (const word of ["Pause", "Play"]) {
      await page.keyboard.press("Space");
      await page.waitForFunction((w) => document.getElementById("play").textContent === w, word, { timeout: 5000 });
    }
    const reached = new Set();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
    }
    for (const id of ["next", "play", "restart", "speed", "scrub", "command", "copy", "link", "theme"]) assert.ok(reached.has(id), `${id} of ${[...reached]}`);
    await close();
  });

  for (const scheme of ["light", "dark"]) {
    for (const width of [390, 1280, 3840]) {
      it(`fits ${width} px and has contrast, ${scheme}`, async () => {
        const { page, trouble, close } = await open("#lesson=skipped-vma", { width, height: width === 390 ? 844 : width === 3840 ? 2160 : 900, scheme });
        await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
        await page.waitForTimeout(300);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, "wider than the window");
        assert.deepEqual(await page.evaluate(lowContrast, 4.5), []);
        const nameless = await page.evaluate(() =>
          [...document.querySelectorAll("button, a[href], select, input, textarea, canvas")]
            .filter((e) => e.getClientRects().length && !(e.innerText?.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title))
            .map((e) => e.outerHTML.slice(0, 90)));
        assert.deepEqual(nameless, []);
        if (width === 390) {
          const small = await page.evaluate(() => [...document.querySelectorAll("button")].filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 24).map((e) => e.textContent));
          assert.deepEqual(small, []);
        }
        assert.deepEqual(trouble, []);
        await close();
      });
    }
  }

  it("keeps still for readers who ask for it", async () => {
    const { page, trouble, close } = await open("#lesson=ping-pong", { reducedMotion: "reduce" });
    await toTheEnd(page);
    assert.deepEqual(trouble, []);
    await close();
  });

  it("draws a frame in less than its time while both sides run as fast as they can", async () => {
    const { page, close } = await open("#machine=4x1x2x1&workload=numa02&kernel1=6.1&kernel2=6.12");
    const framesIn = (ms) => page.evaluate((ms) => new Promise((done) => {
      const end = performance.now() + ms;
      let count = 0;
      const next = (now) => (now < end ? (count += 1, requestAnimationFrame(next)) : done(count));
      requestAnimationFrame(next);
    }), ms);
    const idle = await framesIn(1000);
    // And beside two workers that only spin, which tells how busy the machine is otherwise.
    await page.evaluate(() => {
      const source = URL.createObjectURL(new Blob(["for (;;);"], { type: "text/javascript" }));
      globalThis.spinning = [1, 2].map(() => new Worker(source));
    });
    const beside = await framesIn(1000);
    await page.evaluate(() => globalThis.spinning.forEach((worker) => worker.terminate()));
    const asked = await page.evaluate(() => playground.requests());
    await page.evaluate(() => (playground.drawMs.length = 0));
    const began = Date.now();
    const ended = toTheEnd(page);
    const running = await framesIn(1000);
    await ended;
    const tookS = (Date.now() - began) / 1000;
    const { median, frames, simulated, busy } = await page.evaluate(() => {
      const ms = [...playground.drawMs].sort((a, b) => a - b);
      return { median: ms[ms.length >> 1], frames: ms.length, simulated: playground.player.end / 1e6, busy: Math.max(...playground.busyMs()) };
    });
    // The native build makes the same two runs, one after the other, and prints their outcomes.
    const nativeBegan = performance.now();
    asked.forEach((one) => native(one));
    const ratio = (performance.now() - nativeBegan) / asked.length / busy;
    console.log(`${frames} frames in ${tookS.toFixed(1)} s, ${median.toFixed(2)} ms of work in the median one; ${running} frames in the first second, ${beside} beside workers that spin, ${idle} while nothing runs`);
    console.log(`${(simulated / busy).toFixed(1)} s of model time a second, ${(100 * ratio).toFixed(0)} % of the speed of the native build`);
    assert.ok(median < 1000 / 60, `a frame takes ${median} ms`);
    // Both sides take a CPU each, so on two CPUs that others use as well few are left for the page. It must stay alive.
    assert.ok(frames >= 2 * tookS, `${frames} frames in ${tookS} s`);
    assert.ok(ratio > 0.05, `the module runs at ${(100 * ratio).toFixed(1)} % of the native speed`);
    await close();
  });
});
