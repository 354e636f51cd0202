// Light and dark. Without a choice, the page follows the system.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const stored = localStorage.getItem("weft.theme");

/** The chosen theme. */
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

effect(() => {
  localStorage.setItem("weft.theme", theme.value);
  document.documentElement.dataset.theme = theme.value;
});

/** Chooses the next theme. */
export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
