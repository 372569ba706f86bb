// No link of the built site leads nowhere, and the search for such links finds them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { deadLinks } from "./links.mjs";

const site = fileURLToPath(new URL("../../target/site", import.meta.url));

test("every link of the site leads somewhere", (t) => {
  const { dead, count } = deadLinks(site);
  t.diagnostic(`${count} links`);
  assert.ok(count > 9000, `${count} links`);
  assert.deepEqual(dead, []);
});

test("dead links are found", () => {
  const folder = mkdtempSync(join(tmpdir(), "numalab-links-"));
  try {
    mkdirSync(join(folder, "below"));
    const good = `<p id="here"><a href="below/b.html#there">b</a> <a href='#here'>here</a> <a href="https://example.org/">far</a>`;
    const dead = `<a href="/below/b.html">root</a> <a href="below">folder</a> <a href="below/b.html#gone">place</a> <img src="no.png">`;
    writeFileSync(join(folder, "a.html"), `${good}<script>const a = '<a href="no.html">';</script><!-- <a href="no.html"> -->${dead}`);
    writeFileSync(join(folder, "below/b.html"), `<h2 id="there">b</h2><a href="../a.html?x=1#here">a</a><a href="../../out.html">out</a>`);
    const found = deadLinks(folder);
    const names = ["/below/b.html", "below", "below/b.html#gone", "no.png"].map((link) => `a.html: ${link}`);
    assert.deepEqual(found.dead.sort(), [...names, "below/b.html: ../../out.html"].sort());
    assert.equal(found.count, 8);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
