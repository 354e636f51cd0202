// The button that starts a run.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../components/icon.js";
import { useKeys } from "../lib/keys.js";
import { StartForm } from "./start.js";

/** A button that opens the form, with the shortcut s. */
export function StartButton(): JSX.Element {
  const [open, setOpen] = useState(false);
  useKeys("List", [{ keys: "s", does: "Start a workflow", run: () => setOpen(true) }]);
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        <Icon name="plus" size={14} /> Start
      </button>
      {open && <StartForm onClose={() => setOpen(false)} />}
    </>
  );
}
