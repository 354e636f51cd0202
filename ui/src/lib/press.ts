// What would move the page waits while the pointer is pressed: otherwise the button moves away below
// the pointer, and the click misses it.

let pressed = false;
const waiting: (() => void)[] = [];

function release(): void {
  pressed = false;
  setTimeout(() => {
    while (!pressed && waiting.length > 0) waiting.shift()?.();
  });
}

globalThis.addEventListener?.("pointerdown", (e) => (pressed = e.button === 0), true);
// A press also ends without a click: by a scroll, a drag, a menu, or when the window is left.
for (const end of ["pointerup", "pointercancel", "dragstart", "contextmenu"]) globalThis.addEventListener?.(end, release, true);
globalThis.addEventListener?.("blur", release);

/** Calls a function now, or after the click if the pointer is pressed. The order of calls stays. */
export function afterPress(then: () => void): void {
  if (pressed || waiting.length > 0) waiting.push(then);
  else then();
}
