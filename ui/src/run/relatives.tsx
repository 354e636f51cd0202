// The parent of a run, its children to any depth, and the runs of its workflow.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Description, HistoryEvent, Status } from "../api/types.js";
import { describe, history, runsOf } from "../api/workflows.js";
import { StateBadge, StatusBadge } from "../components/badge.js";
import { Icon } from "../components/icon.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { Ago } from "../components/time.js";
import { words } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { runHref } from "../lib/route.js";
import { ChildBadge } from "./pending.js";

/** A child, as the events of its parent have it. */
interface Child {
  workflowId: string;
  type: string;
  runId: string | undefined;
  /** How it ended, by the event of its outcome; undefined if that has not arrived. */
  ended?: Status;
}

const outcomes: Partial<Record<HistoryEvent["type"], Status>> = {
  ChildWorkflowExecutionCompleted: "completed",
  ChildWorkflowExecutionFailed: "failed",
  ChildWorkflowExecutionCanceled: "canceled",
  ChildWorkflowExecutionTimedOut: "timedOut",
  ChildWorkflowExecutionTerminated: "terminated",
};

/** Returns the children that events have started, in their order. */
export function childrenOf(events: readonly HistoryEvent[]): Child[] {
  const all = new Map<number, Child>();
  for (const e of events) {
    if (e.type === "StartChildWorkflowExecutionInitiated") all.set(e.id, { workflowId: e.attributes.workflowId, type: e.attributes.workflowType, runId: undefined });
    if (e.type === "ChildWorkflowExecutionStarted") {
      const child = all.get(e.attributes.initiatedEventId);
      if (child) child.runId = e.attributes.runId;
    }
    const ended = outcomes[e.type];
    const child = ended && "initiatedEventId" in e.attributes ? all.get(Number(e.attributes.initiatedEventId)) : undefined;
    if (child && ended) child.ended = ended;
  }
  return [...all.values()];
}

const mostChildren = 50;

/** Shows the parent and the children. */
export function Relatives({ d, events }: { d: Description; events: readonly HistoryEvent[] }): JSX.Element | null {
  const children = childrenOf(events);
  if (!d.parent && children.length === 0) return null;
  return (
    <div class="relatives">
      {d.parent && (
        <p>
          <Icon name="up" size={13} /> <span class="dim">parent</span> <a href={runHref(d.parent.workflowId, d.parent.runId)}>{d.parent.workflowId}</a>
        </p>
      )}
      <Tree children={children} pending={d.pendingChildren} />
    </div>
  );
}

function Tree({ children, pending }: { children: Child[]; pending: Description["pendingChildren"] }): JSX.Element {
  const [most, setMost] = useState(mostChildren);
  return (
    <ul class="tree">
      {children.slice(0, most).map((c) => (
        <Branch key={c.workflowId} child={c} pending={pending.find((p) => p.workflowId === c.workflowId)} />
      ))}
      {children.length > most && (
        <li>
          <button type="button" class="small" onClick={() => setMost(most + mostChildren)}>
            {children.length - most} more
          </button>
        </li>
      )}
    </ul>
  );
}

/** A child, which is read for its own children only when it is unfolded. */
function Branch({ child, pending }: { child: Child; pending: Description["pendingChildren"][number] | undefined }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <span class="branch">
        <button type="button" class="ghost icon-only fold" aria-expanded={open} aria-label={`Children of ${child.workflowId}`} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "chevron"} size={13} />
        </button>
        <a href={runHref(child.workflowId, child.runId)}>{child.workflowId}</a> <span class="dim">{child.type}</span> {!open && (child.ended ? <StatusBadge status={child.ended} /> : pending && <ChildBadge child={pending} />)}
      </span>
      {open && <Grandchildren child={child} />}
    </li>
  );
}

function Grandchildren({ child }: { child: Child }): JSX.Element {
  const read = useLive(`relatives ${child.workflowId} ${child.runId ?? ""}`, async (abort) => {
    const d = await describe(child.workflowId, child.runId, abort);
    const events: HistoryEvent[] = [];
    for (let from = 1; ; ) {
      const page = await history(child.workflowId, d.runId, from, abort);
      events.push(...page.events);
      if (!page.nextPageToken || events.length > 20_000) break;
      from = (page.events.at(-1)?.id ?? 0) + 1;
    }
    return { value: { d, children: childrenOf(events) }, again: d.status === "running" ? 10_000 : undefined };
  });
  if (read.error !== undefined) return <Trouble error={read.error} onRetry={read.refresh} />;
  if (!read.value) return <Skeleton lines={1} />;
  const { d, children } = read.value;
  return (
    <div class="grandchildren">
      <span class="badges">
        <StatusBadge status={d.status} />
        {d.state && d.state !== "waiting" && <StateBadge state={d.state} />}
      </span>
      {children.length > 0 && <Tree children={children} pending={d.pendingChildren} />}
    </div>
  );
}

/** Shows the runs of the workflow, if there are several: how each began and ended. */
export function Chain({ d }: { d: Description }): JSX.Element | null {
  const [pages, setPages] = useState(1);
  const read = useLive(`runs ${d.workflowId} ${d.runId} ${d.status} ${pages}`, async (abort) => {
    const runs = [];
    let token: string | undefined;
    for (let i = 0; i < pages; i++) {
      const page = await runsOf(d.workflowId, token, abort);
      runs.push(...(page?.runs ?? []));
      token = page?.nextPageToken;
      if (!token) break;
    }
    return { value: { runs, more: token !== undefined }, again: 60_000 };
  });
  const runs = read.value?.runs ?? [];
  if (runs.length < 2) return null;
  return (
    <>
      <ol class="chain plain">
        {runs.map((r) => (
          <li key={r.runId} class={r.runId === d.runId ? "present" : undefined}>
            <a class="mono" href={runHref(d.workflowId, r.runId)} aria-current={r.runId === d.runId ? "true" : undefined}>
              run {r.runId.split("-")[0]}
            </a>
            <StatusBadge status={r.status} />
            <span class="dim">
              {words(r.startedBy)}
              {r.attempt > 1 ? `, attempt ${r.attempt}` : ""} · <Ago at={r.startedAt} />
            </span>
          </li>
        ))}
      </ol>
      {read.value?.more && (
        <button type="button" class="small" onClick={() => setPages(pages + 1)}>
          Earlier runs
        </button>
      )}
    </>
  );
}

/** Reports whether a run belongs to a chain, or its workflow had runs before. */
export function mayHaveRuns(d: Description): boolean {
  return !d.runId.startsWith("1-") || d.newRunId !== undefined || d.status !== "running";
}
