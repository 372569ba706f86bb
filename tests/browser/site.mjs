// Looks at the documentation site that `make docs` built, from disk and without a network. `node site.mjs` checks every page at
// both widths and in both themes: no error, no request elsewhere, nothing wider than the window, and nothing serious that axe finds
// for readers who see little or use the keyboard alone. It tries a search.
// `node site.mjs FOLDER` writes pictures besides.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, root } from "./page.mjs";

const folder = process.argv[2];
const site = join(root, "target/site");
if (!existsSync(join(site, "index.html"))) throw new Error("target/site is missing: make docs");

// Every page is in the navigation, which a test of the manual checks.
const navigation = readFileSync(join(root, "mkdocs.yml"), "utf8").split("\nnav:")[1];
const pages = navigation.match(/[\w./-]+\.md/g).map((name) => name.replace(/\.md$/, ".html"));
// Pages of which pictures are written, and what stands at their top.
const PICTURES = { "explanation/numa-balancing.html": { name: "balancing", from: "#what-it-looks-like" } };
// Pages that are looked at in dark, too.
const DARK = ["index.html", "explanation/numa-balancing.html", "notebooks/policy-from-a-mail.html", "reference/machine-files.html", "tutorials/python.html"];

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds that is serious: a line for each rule, with the first place. */
async function inaccessible(page) {
  await page.addScriptTag({ path: AXE });
  const found = await page.evaluate(() => axe.run(document, { preload: false, resultTypes: ["violations"] }));
  const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  return serious.map((v) => `${v.id}, ${v.nodes.length} times: ${v.nodes[0].html.slice(0, 120)}: ${v.nodes[0].failureSummary.replace(/\s+/g, " ")}`);
}

/** Opens a page of the site, and returns it with what went wrong. */
async function open(context, name, scheme) {
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
  page.on("pageerror", (e) => trouble.push(`uncaught: ${e.message}`));
  page.on("request", (r) => /^https?:/.test(r.url()) && trouble.push(`request: ${r.url()}`));
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(pathToFileURL(join(site, name)).href);
  return { page, trouble };
}

/** Types a word into the search, and returns how many pages it finds. */
async function search(page, word) {
  await page.locator(".md-search__input").fill(word);
  await page.waitForSelector(".md-search-result__item", { timeout: 20000 });
  return page.locator(".md-search-result__item").count();
}

const wrong = [];
const b = await browser();
for (const [width, height] of [[1280, 800], [390, 844]]) {
  for (const scheme of ["light", "dark"]) {
    const context = await b.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true });
    for (const name of scheme === "light" ? pages : DARK) {
      const { page, trouble } = await open(context, name, scheme);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) trouble.push(`${wide} px wider than the window`);
      if (width === 1280) trouble.push(...(await inaccessible(page)));
      wrong.push(...trouble.map((t) => `${name} at ${width} px, ${scheme}: ${t}`));
      if (folder && PICTURES[name]) {
        const { name: picture, from } = PICTURES[name];
        await page.locator(from).evaluate((e) => scrollTo(0, e.getBoundingClientRect().y + scrollY - 120));
        await page.waitForTimeout(500);
        await page.screenshot({ path: join(folder, `site-${picture}-${width}-${scheme}.png`) });
      }
      if (name === "index.html" && width === 1280 && scheme === "light" && (await search(page, "hint fault")) < 3) {
        wrong.push("the search finds nothing");
      }
      await page.close();
    }
    await context.close();
  }
}
// The home page opens with the playground: its picture is the first thing under the title. It starts from there, from disk.
if (existsSync(join(site, "playground/numalab.js"))) {
  const context = await b.newContext({ viewport: { width: 1280, height: 800 }, offline: true });
  const { page, trouble } = await open(context, "index.html", "light");
  const first = page.locator("article h1 + p > a[href='playground/index.html'] img");
  if (!(await first.evaluate((img) => img.complete && img.naturalWidth > 0))) trouble.push("it has no picture");
  await first.click();
  const ready = page.waitForSelector("html[data-ready=true]", { timeout: 60000 }).catch(() => trouble.push("it does not start"));
  await ready;
  wrong.push(...trouble.map((t) => `playground: ${t}`));
  await context.close();
} else {
  console.log("the site has no playground: a Rust compiler for WebAssembly was missing");
}
await b.close();
wrong.forEach((w) => console.error(w));
console.log(`${pages.length} pages of the site, ${wrong.length} things wrong`);
process.exitCode = wrong.length ? 1 : 0;
