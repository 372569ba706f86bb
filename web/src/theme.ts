// The theme: light, dark, or that of the system; on paper it is light.

import { variable } from "./colors";

const MODES = ["auto", "light", "dark"] as const;
type Mode = (typeof MODES)[number];
const KEY = "numalab-theme";

function stored(): Mode {
  // A page opened from disk may have no storage at all.
  try {
    const value = localStorage.getItem(KEY);
    return MODES.find((m) => m === value) ?? "auto";
  } catch {
    return "auto";
  }
}

/** Makes the button work; `changed` is called after the colours have changed. */
export function start(changed: () => void): void {
  const button = document.getElementById("theme");
  if (!button) return;
  let mode = stored();
  const apply = () => {
    if (mode === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = mode;
    button.textContent = `Theme: ${mode}`;
    button.setAttribute("aria-label", `Theme: ${mode}. Change it`);
  };
  apply();
  button.hidden = false;
  button.addEventListener("click", () => {
    mode = MODES[(MODES.indexOf(mode) + 1) % MODES.length] ?? "auto";
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // The choice then lasts as long as the page.
    }
    apply();
    changed();
  });
  // Canvases keep the colours they were drawn with, so they are drawn again before and after printing.
  const paper = (printing: boolean) => {
    const before = variable("--scheme");
    document.documentElement.toggleAttribute("data-print", printing);
    if (variable("--scheme") !== before) changed();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (mode === "auto") changed();
  });
}
