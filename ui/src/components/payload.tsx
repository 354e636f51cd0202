// Payloads: JSON of workflows and activities. They are text nodes only, folded if they are large.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { writeJson } from "../lib/exact.js";
import { bytes } from "../lib/format.js";
import { Copy } from "./copy.js";

const foldLines = 12;
const foldChars = 2000;
/** How much of a payload is shown at once when it is unfolded: a browser lays out more too slowly. */
const mostChars = 200_000;

/** Returns a payload as indented JSON, or the bytes of one that is not JSON. */
export function jsonText(value: unknown): string {
  return writeJson(value, 2) ?? "";
}

/** Returns a payload in one short line. */
export function shortJson(value: unknown, most = 80): string {
  if (value === undefined) return "";
  const text = writeJson(value) ?? "";
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Returns the bytes of a payload that is not JSON; see the schema Payload of openapi.yaml. */
function rawBytes(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const members = Object.keys(value);
  const raw = (value as Record<string, unknown>)["weft.base64"];
  return members.length === 1 && typeof raw === "string" ? raw : undefined;
}

/** Shows a payload. */
export function Payload({ value, label }: { value: unknown; label: string }): JSX.Element {
  const text = useMemo(() => jsonText(value), [value]);
  const [open, setOpen] = useState(false);
  const [most, setMost] = useState(mostChars);
  const raw = rawBytes(value);
  if (raw !== undefined) {
    return (
      <div class="payload">
        <p class="dim">
          {bytes(Math.floor((raw.length * 3) / 4))} that are not JSON, in base64 <Copy text={raw} what={label} />
        </p>
        <pre tabIndex={0} role="group" aria-label={label}>
          {raw.slice(0, foldChars)}
        </pre>
      </div>
    );
  }
  const lines = text.split("\n", foldLines + 1);
  const large = text.length > foldChars || lines.length > foldLines;
  const shown = !large ? text : open ? text.slice(0, most) : text.slice(0, foldChars).split("\n", foldLines).join("\n");
  return (
    <div class="payload">
      <pre tabIndex={0} role="group" aria-label={label}>
        {shown}
        {large && !open ? "\n…" : ""}
      </pre>
      <div class="payload-tools">
        {large && (
          <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Fold" : `Show all (${bytes(text.length)})`}
          </button>
        )}
        {open && text.length > most && (
          <button type="button" class="small" onClick={() => setMost(most + 5 * mostChars)}>
            {bytes(text.length - most)} more
          </button>
        )}
        <Copy text={text} what={label} />
      </div>
    </div>
  );
}
