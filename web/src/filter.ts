// Filters of the look-up tables: they show the rows whose name contains what is typed.

export function start(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>("input.filter")) {
    const rows = input.parentElement?.querySelectorAll<HTMLElement>("tr[data-metric]") ?? [];
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !(row.dataset["metric"] ?? "").toLowerCase().includes(wanted);
    });
  }
}
