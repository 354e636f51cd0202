// Keyboard shortcuts. A part of the page registers its own while it is shown, and the help lists
// those that work at present.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A shortcut: a key, or two that are pressed one after the other ("g r"). */
export interface Shortcut {
  keys: string;
  does: string;
  run: () => void;
}

/** The shortcuts that work at present, by the part of the page that they belong to. */
export const active = signal<ReadonlyMap<object, { part: string; shortcuts: Shortcut[] }>>(new Map());

/** Registers shortcuts while a component is shown: from the moment at which it is in the document. */
export function useKeys(part: string, shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useLayoutEffect(() => {
    const owner = {};
    const live = shortcuts.map((s, i) => ({ ...s, run: () => latest.current[i]?.run() }));
    active.value = new Map(active.peek()).set(owner, { part, shortcuts: live });
    return () => {
      const rest = new Map(active.peek());
      rest.delete(owner);
      active.value = rest;
    };
  }, [part, shortcuts.length]);
}

const sequence = 1000; // milliseconds between two keys that belong together

let first = "";
let firstAt = 0;

/** Reports whether keys go to a control that needs them. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target) || document.querySelector("dialog[open]")) return;
  const pressed = e.key;
  const both = performance.now() - firstAt < sequence ? `${first} ${pressed}` : "";
  const all = [...active.value.values()].reverse().flatMap((a) => a.shortcuts);
  const found = all.find((s) => s.keys === both) ?? all.find((s) => s.keys === pressed);
  first = pressed;
  firstAt = performance.now();
  if (!found) return;
  first = "";
  e.preventDefault();
  found.run();
});
