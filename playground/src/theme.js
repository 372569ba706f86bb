// The theme: that of the system, light or dark.

import { $ } from "./dom.js";

const MODES = ["auto", "light", "dark"];
const KEY = "numalab-theme";

/** Makes the button work; `changed` is called when colours have changed. */
export function start(changed) {
  let mode = "auto";
  try {
    mode = MODES.find((m) => m === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    // A page from disk may have no storage.
  }
  const apply = () => {
    if (mode === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = mode;
    $("theme").textContent = `Theme: ${mode}`;
    changed();
  };
  $("theme").addEventListener("click", () => {
    mode = MODES[(MODES.indexOf(mode) + 1) % MODES.length];
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // The choice then lasts as long as the page.
    }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  apply();
}
