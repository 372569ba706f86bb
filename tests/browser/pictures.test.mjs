// The pictures of the manual are of the page as the command makes it today.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, firstSteps, open, root, shown, sums } from "./page.mjs";

const folder = join(root, "docs", "images");
const stale = "expected what the page says today: make the pictures anew with `make pictures`";
let b;
let real;

before(async () => {
  real = firstSteps();
  b = await browser();
});

after(async () => {
  await b?.close();
  real?.remove();
});

test("the pictures of a page show what the page says", async () => {
  const { shown: then } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  const { page, close } = await open(b, real.url, { width: 390, scheme: "dark" });
  const now = await shown(page);
  assert.ok(now.length >= 5 && now.every((line) => line.length > 10), now.join("\n"));
  assert.deepEqual(then, now, stale);
  await close();
});

test("no picture was changed by another hand", () => {
  const { sha256 } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  assert.ok(Object.keys(sha256).length >= 5);
  assert.deepEqual(sums(folder), sha256, stale);
});
