// Moments and spans, which move with the clock.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { ago, duration, millis, stamp } from "../lib/format.js";
import { now } from "../lib/now.js";

/** Shows how long ago a moment was, with the moment itself as its title. Bare: only the span, as after "since". */
export function Ago({ at, bare }: { at: string; bare?: boolean }): JSX.Element {
  const text = useComputed(() => (bare ? ago(millis(at), now.value).replace(/ ago$/, "") : ago(millis(at), now.value)));
  return (
    <time dateTime={at} title={stamp(millis(at), true)}>
      {text}
    </time>
  );
}

/** Shows a moment, and how long ago it was. */
export function Moment({ at }: { at: string }): JSX.Element {
  return (
    <span class="moment">
      <time dateTime={at} title={at}>
        {stamp(millis(at))}
      </time>{" "}
      <span class="dim">
        <Ago at={at} />
      </span>
    </span>
  );
}

/** Shows the span between two moments; without an end it grows. */
export function Span({ from, to }: { from: string; to?: string | undefined }): JSX.Element {
  const text = useComputed(() => duration((to ? millis(to) : now.value) - millis(from)));
  return <span title={to ? `until ${stamp(millis(to), true)}` : "so far"}>{text}</span>;
}
