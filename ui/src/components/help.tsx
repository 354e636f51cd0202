// The keyboard shortcuts that work at present.
import type { JSX } from "preact";
import { active, type Shortcut } from "../lib/keys.js";
import { Dialog } from "./dialog.js";

/** Lists the shortcuts. */
export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const parts = new Map<string, Shortcut[]>();
  for (const { part, shortcuts } of active.value.values()) parts.set(part, [...(parts.get(part) ?? []), ...shortcuts]);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div class="shortcuts">
        {[...parts].map(([part, shortcuts]) => (
          <section key={part}>
            <h3>{part}</h3>
            <dl>
              {shortcuts.map((s) => (
                <div key={s.keys}>
                  <dt>
                    {s.keys.split(" ").map((k) => (
                      <kbd key={k}>{k}</kbd>
                    ))}
                  </dt>
                  <dd>{s.does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
