// The server's present time, for what is shown relative to it.
import { signal } from "@preact/signals";
import { afterPress } from "./press.js";

/** How far the server's clock is ahead of this one, in milliseconds. */
let ahead = 0;

/** The present in milliseconds since 1970, by the server's clock. It moves once a second. */
export const now = signal(Date.now());

/** Learns the server's clock from the Date header of an answer, which is exact to a second. */
export function learnClock(date: string | null): void {
  if (!date) return;
  const difference = Date.parse(date) + 500 - Date.now();
  if (Number.isFinite(difference)) ahead = Math.abs(difference) > 1500 ? difference : 0;
}

function tick(): void {
  if (!document.hidden) now.value = Date.now() + ahead;
}
setInterval(() => afterPress(tick), 1000);
document.addEventListener("visibilitychange", tick);
