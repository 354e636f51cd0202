// A button with a menu: arrow keys move, Escape and a click elsewhere close it.
import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.js";

/** An entry of a menu. */
export interface MenuItem {
  label: string;
  icon: IconName;
  danger?: boolean;
  run: () => void;
}

/** Shows the button. open is called with a function that opens the menu, for a shortcut. */
export function Menu({ label, items, small, opener }: { label: string; items: MenuItem[]; small?: boolean; opener?: (open: () => void) => void }): JSX.Element {
  const [open, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  opener?.(() => setOpen(true));
  const entries = (): HTMLElement[] => [...(whole.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  useLayoutEffect(() => {
    if (!open) return;
    entries()[0]?.focus();
    const outside = (e: PointerEvent): void => {
      if (!whole.current?.contains(e.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const onKey = (e: KeyboardEvent): void => {
    if (!open) return;
    const all = entries();
    const present = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: present + 1, ArrowUp: present - 1 + all.length, Home: 0, End: all.length - 1 }[e.key];
    if (to !== undefined) all[to % all.length]?.focus();
    else if (e.key === "Escape") {
      setOpen(false);
      button.current?.focus();
    } else if (e.key === "Tab") {
      setOpen(false);
      return;
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="menu" ref={whole} onKeyDown={onKey}>
      <button ref={button} type="button" class={small ? "small" : undefined} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}>
        {label} <Icon name="down" size={12} />
      </button>
      {open && (
        <div id={id} class="menu-items" role="menu" aria-label={label}>
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.danger ? "ghost danger" : "ghost"}
              onClick={() => {
                button.current?.focus(); // a dialog gives the focus back to it
                setOpen(false);
                item.run();
              }}
            >
              <Icon name={item.icon} /> {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
