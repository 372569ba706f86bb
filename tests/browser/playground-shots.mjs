// Writes pictures of the playground for the documentation: `node playground-shots.mjs FOLDER`, at three widths and in both themes.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser } from "./page.mjs";
import { folder } from "./playground.mjs";

const out = process.argv[2];
if (!out) throw new Error("usage: node playground-shots.mjs FOLDER");
/** Widths and heights, and where the picture begins. */
const SIZES = [[390, 844, "#sides"], [1280, 900, "body"], [3840, 2160, "body"]];
/** When the picture is taken: memory is on its way to its threads. */
const SECONDS = 2.18;
const b = await browser();
for (const [width, height, from] of SIZES) {
  for (const scheme of ["light", "dark"]) {
    const context = await b.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true });
    const page = await context.newPage();
    await page.goto(`${pathToFileURL(join(folder, "index.html")).href}#lesson=first-touch`);
    await page.waitForSelector("html[data-ready=true]");
    for (const _ of [1, 2]) await page.locator("#next").click();
    await page.evaluate((s) => (playground.state.stopNs = s * 1e9), SECONDS);
    await page.waitForFunction(() => !playground.player.playing, null, { timeout: 60000 });
    if (from !== "body") await page.locator(from).evaluate((e) => scrollTo(0, e.getBoundingClientRect().y + scrollY - 100));
    await page.screenshot({ path: join(out, `playground-${width}-${scheme}.png`) });
    await context.close();
  }
}
await b.close();
