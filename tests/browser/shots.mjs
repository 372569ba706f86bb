// Writes pictures of a page for the documentation. `node shots.mjs PAGE FOLDER` writes the top of the page at both widths and
// in both themes, and its maps and charts.

import { pathToFileURL } from "node:url";
import { browser, open } from "./page.mjs";

const [file, folder] = process.argv.slice(2);
if (!file || !folder) throw new Error("usage: node shots.mjs PAGE FOLDER");
const b = await browser();
for (const [width, height] of [[1280, 900], [390, 844]]) {
  for (const scheme of ["light", "dark"]) {
    const { page, close } = await open(b, pathToFileURL(file).href, { width, height, scheme });
    await page.screenshot({ path: `${folder}/report-${width}-${scheme}.png` });
    if (width === 1280) {
      const heading = page.locator("#time h3", { hasText: scheme === "light" ? "Where it was" : "Memory on each node" });
      await heading.evaluate((e) => scrollTo(0, e.getBoundingClientRect().y + scrollY - 60));
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${folder}/report-time-${scheme}.png` });
    }
    await close();
  }
}
await b.close();
