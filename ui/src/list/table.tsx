// The table of the list.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { AttributeValue, Summary } from "../api/types.js";
import { reasonText, StateBadge, StatusBadge } from "../components/badge.js";
import { Ago, Span } from "../components/time.js";
import { quote, scheduleType } from "../lib/filter.js";
import { useKeys } from "../lib/keys.js";
import { href, runHref } from "../lib/route.js";

/** States that say more than that the run is open. */
const telling = new Set(["stuck", "paused", "retrying"]);

/** Shows runs. A click on a type or an attribute filters by it. */
export function RunsTable({
  runs,
  fresh,
  onType,
  onAttribute,
}: {
  runs: Summary[];
  fresh: ReadonlySet<string>;
  onType: (type: string) => void;
  onAttribute: (condition: string) => void;
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (by: number): void => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>("a.row-link") ?? [])];
    const present = links.findIndex((l) => l === document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, present + by))]?.focus();
  };
  useKeys("List", [
    { keys: "j", does: "Next run", run: () => move(1) },
    { keys: "k", does: "Previous run", run: () => move(-1) },
    { keys: "o", does: "Open the run", run: () => (document.activeElement as HTMLElement | null)?.click() },
  ]);
  const attributes = runs.some((r) => r.searchAttributes && Object.keys(r.searchAttributes).length > 0);
  return (
    <table class="rows runs">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Workflow</th>
          <th scope="col">Type</th>
          <th scope="col">Started</th>
          <th scope="col">Took</th>
          {attributes && <th scope="col">Attributes</th>}
        </tr>
      </thead>
      <tbody ref={body}>
        {runs.map((r) => (
          <tr key={r.workflowId + r.runId} class={fresh.has(r.runId + r.workflowId) ? "fresh" : undefined}>
            <td data-label="Status">
              <span class="badges">
                <StatusBadge status={r.status} />
                {r.state && telling.has(r.state) && <StateBadge state={r.state} />}
              </span>
              <Why run={r} />
            </td>
            <td data-label="Workflow" class="primary">
              <a class="row-link" href={runHref(r.workflowId, r.runId)}>
                {r.workflowId}
              </a>
              <span class="dim run-number" title={r.runId}>
                {runNumber(r.runId)}
              </span>
              {r.parentWorkflowId && <StartedBy parent={r.parentWorkflowId} />}
            </td>
            <td data-label="Type">
              <button type="button" class="link" title={`Only ${r.type}`} onClick={() => onType(r.type)}>
                {r.type}
              </button>
            </td>
            <td data-label="Started" class="num">
              <Ago at={r.startedAt} />
            </td>
            <td data-label="Took" class="num">
              <Span from={r.startedAt} to={r.closedAt} />
            </td>
            {attributes && (
              <td data-label="Attributes">
                <Attributes of={r} onAttribute={onAttribute} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Says since when and why an open run is as it is, and why one has failed, as far as the row knows. */
function Why({ run: r }: { run: Summary }): JSX.Element | null {
  const facts: (JSX.Element | string)[] = [];
  if (r.stuck) facts.push(<>{r.stuck.failureType}, since <Ago at={r.stuck.since} bare /></>);
  if (r.paused) facts.push(<>since <Ago at={r.paused.since} bare /></>);
  if (r.failingActivities?.length) facts.push(r.failingActivities.join(", "));
  if (r.closeReason && r.closeReason !== r.status) facts.push(reasonText(r.closeReason));
  if (facts.length === 0) return null;
  return (
    <span class="why dim">
      {facts.map((f, i) => (
        <span key={i}>{f}</span>
      ))}
    </span>
  );
}

const ofSchedule = `${scheduleType}:`;

/** Says which workflow has started a run as its child, or which schedule. */
function StartedBy({ parent }: { parent: string }): JSX.Element {
  const schedule = parent.startsWith(ofSchedule) ? parent.slice(ofSchedule.length) : undefined;
  return (
    <span class="started-by dim">
      {schedule === undefined ? "child of" : "schedule"} <a href={schedule === undefined ? runHref(parent) : href(["schedules", schedule])}>{schedule ?? parent}</a>
    </span>
  );
}

/** Returns the number of a run among those of its workflow: "" for the first. */
function runNumber(runId: string): string {
  const number = runId.split("-")[0];
  return number && number !== "1" ? `run ${number}` : "";
}

/** Shows search attributes. */
function Attributes({ of, onAttribute }: { of: Summary; onAttribute: (condition: string) => void }): JSX.Element {
  const all = Object.entries(of.searchAttributes ?? {});
  return (
    <span class="chips">
      {all.slice(0, 4).map(([name, value]) => (
        <button key={name} type="button" class="chip" title={`Only ${attributeCondition(name, value)}`} onClick={() => onAttribute(attributeCondition(name, value))}>
          <span class="dim">{name}</span> {attributeText(value)}
        </button>
      ))}
      {all.length > 4 && <span class="dim">+{all.length - 4}</span>}
    </span>
  );
}

/** Returns the value of a search attribute as a text. */
export function attributeText(v: AttributeValue): string {
  return String(v.keyword ?? v.int ?? v.float ?? v.bool ?? v.time ?? (v.keywordList ?? []).join(", "));
}

/** Returns the condition that a search attribute has this value. */
export function attributeCondition(name: string, v: AttributeValue): string {
  if (v.keywordList) return `${name} IN (${v.keywordList.map(quote).join(", ")})`;
  if (v.bool !== undefined) return `${name} = ${v.bool ? "TRUE" : "FALSE"}`;
  if (v.keyword !== undefined || v.time !== undefined) return `${name} = ${quote(v.keyword ?? v.time ?? "")}`;
  return `${name} = ${attributeText(v)}`;
}
