// A button that copies a text.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.js";
import { toast } from "./toast.js";

/** Copies a text. what names it for those who do not see the icon. */
export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      toast({ tone: "warn", title: "The browser did not allow to copy", detail: "Browsers allow it with HTTPS, and on this machine." });
    }
  };
  return (
    <button type="button" class="ghost icon-only copy" aria-label={done ? `Copied ${what}` : `Copy ${what}`} title={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} size={14} />
    </button>
  );
}
