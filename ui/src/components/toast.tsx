// Short messages about what an action did. A refusal stays until it is dismissed.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Refused, reason, type Cost } from "../api/http.js";
import { failureText } from "./failure.js";
import { Icon } from "./icon.js";

/** A message. */
export interface Toast {
  tone: "good" | "bad" | "warn";
  title: string;
  detail?: string | undefined;
  cost?: Cost | undefined;
}

const shown = signal<readonly (Toast & { id: number })[]>([]);
let last = 0;

const shortly = 6000; // milliseconds

/** Shows a message. */
export function toast(message: Toast): void {
  const id = ++last;
  shown.value = [...shown.value, { ...message, id }].slice(-4);
  if (message.tone === "good") setTimeout(() => dismiss(id), shortly);
}

function dismiss(id: number): void {
  shown.value = shown.value.filter((t) => t.id !== id);
}

/** Shows why an action failed: refused, with what that cost, or without an answer. */
export function toastError(title: string, error: unknown): void {
  const failure = error instanceof Refused ? error.problem.failure : undefined;
  toast({ tone: "bad", title, detail: failure ? `${reason(error)}: ${failureText(failure)}` : reason(error), cost: error instanceof Refused ? error.cost : undefined });
}

/** Returns a cost as the header has it: writes=0, reads=1, messages=0. */
export function costText(cost: Cost): string {
  return `writes=${cost.writes}, reads=${cost.reads}, messages=${cost.messages}`;
}

/** Shows the messages. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((t) => (
        <div key={t.id} class={`toast ${t.tone}`}>
          <Icon name={t.tone === "good" ? "check" : "alert"} />
          <div class="grow">
            <strong>{t.title}</strong>
            {t.detail && <p>{t.detail}</p>}
            {t.cost && <code class="dim">{costText(t.cost)}</code>}
          </div>
          <button type="button" class="ghost icon-only" aria-label="Dismiss" onClick={() => dismiss(t.id)}>
            <Icon name="cross" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
