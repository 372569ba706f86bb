// Writes pictures of a page for the documentation: `node shots.mjs PAGE FOLDER`. The top of the page at both widths and in both
// themes, the maps before and after, and charts. `report.json` there says what the pictures show, for their test.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { browser, drawn, open, shown, sums } from "./page.mjs";

const [file, folder] = process.argv.slice(2);
if (!file || !folder) throw new Error("usage: node shots.mjs PAGE FOLDER");
const b = await browser();
let said;
for (const [width, height] of [[1280, 1000], [390, 844]]) {
  for (const scheme of ["light", "dark"]) {
    const { page, trouble, close } = await open(b, pathToFileURL(file).href, { width, height, scheme, reducedMotion: "reduce" });
    await drawn(page);
    said = await shown(page);
    await page.screenshot({ path: `${folder}/report-${width}-${scheme}.png` });
    if (width === 1280 && scheme === "light") await page.locator("#picture").screenshot({ path: `${folder}/report-maps-light.png` });
    if (width === 1280) {
      await page.evaluate(() => scrollTo(0, 0));
      const heading = page.locator("#time h3", { hasText: scheme === "light" ? "Memory on each node" : "What NUMA balancing did" });
      await heading.evaluate((e) => scrollTo(0, e.getBoundingClientRect().y + scrollY - 60));
      await drawn(page);
      await page.screenshot({ path: `${folder}/report-time-${scheme}.png` });
    }
    if (trouble.length > 0) throw new Error(trouble.join("\n"));
    await close();
  }
}
await b.close();
writeFileSync(`${folder}/report.json`, `${JSON.stringify({ shown: said, sha256: sums(folder) }, null, 2)}\n`);
