// What a field does when it is left waits until a press of the pointer is over: otherwise the page
// moves below the pointer, and the click that ended the visit misses its button.

let pressed = false;
globalThis.addEventListener?.("pointerdown", () => (pressed = true), true);
for (const end of ["pointerup", "pointercancel"]) globalThis.addEventListener?.(end, () => (pressed = false), true);

/** Calls a function now, or after the click if the pointer is pressed. */
export function afterPress(then: () => void): void {
  if (!pressed) then();
  else addEventListener("pointerup", () => setTimeout(then), { once: true, capture: true });
}
