// The attributes of an event, or of anything else that the API returns.
import type { JSX } from "preact";
import type { Failure } from "../api/types.js";
import { FailureView } from "../components/failure.js";
import { Payload } from "../components/payload.js";
import { Moment } from "../components/time.js";
import { words } from "../lib/format.js";
import { runHref } from "../lib/route.js";

/** Members that are payloads: what authors' code wrote. */
const payloads = new Set(["input", "result", "details", "lastCompletionResult"]);
/** Members whose members are payloads by name. */
const named = new Set(["header", "memo", "searchAttributes"]);

const isTime = (v: unknown): v is string => typeof v === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(v);
const isFailure = (v: unknown): v is Failure => typeof v === "object" && v !== null && typeof (v as Failure).kind === "string";

/** Shows attributes, each by what it is. A link goes to the event or the run that one names. */
export function Attributes({ of, workflowId, eventHref }: { of: Record<string, unknown>; workflowId: string; eventHref: (id: number) => string }): JSX.Element {
  const entries = Object.entries(of).filter(([, v]) => v !== undefined);
  const owner = typeof of.workflowId === "string" ? of.workflowId : workflowId;
  if (entries.length === 0) return <p class="dim">This event has no attributes.</p>;
  return (
    <dl class="attributes">
      {entries.map(([name, value]) => (
        <div key={name} class={payloads.has(name) || typeof value === "object" ? "large" : undefined}>
          <dt>{words(name)}</dt>
          <dd>
            <Value name={name} value={value} owner={owner} eventHref={eventHref} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ name, value, owner, eventHref }: { name: string; value: unknown; owner: string; eventHref: (id: number) => string }): JSX.Element {
  if (payloads.has(name) || named.has(name)) return <Payload value={value} label={words(name)} />;
  if (/failure$/i.test(name) && isFailure(value)) return <FailureView failure={value} open />;
  if (typeof value === "number" && /EventId$/.test(name)) return <a href={eventHref(value)}>#{value}</a>;
  if (name === "workflowId" && typeof value === "string") return <a href={runHref(value)}>{value}</a>;
  if (/RunId$|^runId$/.test(name) && typeof value === "string") {
    return (
      <a class="mono" href={runHref(owner, value)}>
        {value}
      </a>
    );
  }
  if (isTime(value)) return <Moment at={value} />;
  if (typeof value === "object" && value !== null) return <Payload value={value} label={words(name)} />;
  return <span class="value">{String(value)}</span>;
}
