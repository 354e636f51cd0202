// The page of a run.
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { RunActions } from "../actions/run.js";
import { has } from "../api/features.js";
import type { Description, HistoryEvent } from "../api/types.js";
import { FailureView } from "../components/failure.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { Payload } from "../components/payload.js";
import { useKeys } from "../lib/keys.js";
import { go, type Params, runHref } from "../lib/route.js";
import { useTitle } from "../lib/title.js";
import { CostView } from "../run/cost.js";
import { isClosing, useDescription, useEvents } from "../run/data.js";
import { EventTable } from "../run/events.js";
import { RunHead } from "../run/facts.js";
import { Notifications } from "../run/notifications.js";
import { Chain, childrenOf, Relatives, mayHaveRuns } from "../run/relatives.js";
import { Pending, Stuck } from "../run/pending.js";
import { TimelineView } from "../run/timeline.js";
import { WaitsView } from "../run/waits.js";

/** The page of a run. Without a run, or with "latest", it is the latest run of the workflow. */
export function RunPage({ params }: { params: Params }): JSX.Element {
  const workflowId = params.workflow ?? "";
  useTitle(workflowId);
  if (params.run === undefined || params.run === "latest") return <Latest key={workflowId} workflowId={workflowId} params={params} />;
  return <Run key={`${workflowId} ${params.run}`} workflowId={workflowId} runId={params.run} params={params} />;
}

/** Finds the latest run of a workflow, and goes there. */
function Latest({ workflowId, params }: { workflowId: string; params: Params }): JSX.Element {
  const latest = useDescription(workflowId, undefined, 0);
  const runId = latest.value?.runId;
  useEffect(() => {
    if (runId) go(runHref(workflowId, runId, ...[params.part, params.item].filter((p) => p !== undefined)), true);
  }, [runId]);
  if (latest.error !== undefined) return <Trouble error={latest.error} onRetry={latest.refresh} />;
  return <Skeleton lines={6} />;
}

function Run({ workflowId, runId, params }: { workflowId: string; runId: string; params: Params }): JSX.Element {
  const events = useEvents(workflowId, runId);
  const all = events.value?.all ?? [];
  const described = useDescription(workflowId, runId, all.length);
  const d = described.value;
  const part = params.part === "events" ? "events" : "timeline";
  const at = part === "events" ? Number(params.item) || undefined : undefined;
  const eventHref = (id: number): string => runHref(workflowId, runId, "events", String(id));
  useKeys("Run", [
    { keys: "g t", does: "Timeline", run: () => go(runHref(workflowId, runId)) },
    { keys: "g e", does: "Events", run: () => go(runHref(workflowId, runId, "events")) },
    {
      keys: "r",
      does: "Refresh now",
      run: () => {
        described.refresh();
        events.refresh();
      },
    },
  ]);
  if (!d && described.error !== undefined) return <Trouble error={described.error} onRetry={described.refresh} />;
  const tab = (name: string, label: string, to: string): JSX.Element => (
    <a href={to} aria-current={part === name ? "page" : undefined}>
      {label}
    </a>
  );
  return (
    <article class="run-page">
      {d ? <RunHead d={d} actions={<RunActions d={d} events={all} at={at} changed={described.refresh} />} /> : <Skeleton lines={3} />}
      {described.error !== undefined && <Trouble error={described.error} onRetry={described.refresh} />}
      {events.error !== undefined && <Trouble error={events.error} onRetry={events.refresh} />}
      {d && <Stuck d={d} />}
      <div class="run-columns">
        <div class="run-main">
          <InputAndResult events={all} more={events.value?.more ?? true} d={d} />
          <nav class="tabs" aria-label="Parts of the run">
            {tab("timeline", "Timeline", runHref(workflowId, runId))}
            {tab("events", "Events", runHref(workflowId, runId, "events"))}
          </nav>
          {all.length === 0 && events.loading && <Skeleton lines={6} />}
          {all.length > 0 && part === "timeline" && <TimelineView events={all} d={d} eventHref={eventHref} />}
          {all.length > 0 && part === "events" && (
            <EventTable events={all} more={events.value?.more ?? true} total={d?.historyLength ?? all.length} workflowId={workflowId} at={at} eventHref={eventHref} />
          )}
        </div>
        {d && <Side d={d} events={all} eventHref={eventHref} changed={described.refresh} />}
      </div>
    </article>
  );
}

/** What stands beside the timeline: what the run waits for, its relatives, and its cost. */
function Side({ d, events, eventHref, changed }: { d: Description; events: readonly HistoryEvent[]; eventHref: (id: number) => string; changed: () => void }): JSX.Element {
  const open = d.status === "running";
  const pending = Pending({ d, events, eventHref, changed });
  return (
    <aside class="run-side" aria-label="About the run">
      {open && has("waits") && (
        <Card title={d.stuckTask && !d.stuckTask.speculative ? "Where the code waited before it failed" : "Where the code waits"}>
          <WaitsView d={d} eventHref={eventHref} />
        </Card>
      )}
      {pending && <Card title="Pending">{pending}</Card>}
      {(d.parent || childrenOf(events).length > 0) && (
        <Card title="Parent and children">
          <Relatives d={d} events={events} />
        </Card>
      )}
      {d.notifications && (
        <Card title="Notifications of the end">
          <Notifications all={d.notifications} />
        </Card>
      )}
      {has("runs") && mayHaveRuns(d) && (
        <Card title="Runs of this workflow">
          <Chain d={d} />
        </Card>
      )}
      {d.cost && (
        <Card title={open ? "Cost so far" : "Cost"}>
          <CostView cost={d.cost} />
        </Card>
      )}
      {d.memo && Object.keys(d.memo).length > 0 && (
        <Card title="Memo">
          <Payload value={d.memo} label="Memo" />
        </Card>
      )}
    </aside>
  );
}

/** A part of the page with a title. Without content it is not shown. */
function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
      </header>
      <div class="body">{children}</div>
    </section>
  );
}

/** What the run was given, and how it ended. Both are in its events. */
function InputAndResult({ events, more, d }: { events: readonly HistoryEvent[]; more: boolean; d: Description | undefined }): JSX.Element | null {
  const first = events[0];
  if (first?.type !== "WorkflowExecutionStarted") return null;
  const last = more ? undefined : events.at(-1);
  const closing = last && isClosing(last) ? last : undefined;
  return (
    <div class="in-out">
      <section>
        <h2>Input</h2>
        {first.attributes.input === undefined ? <p class="dim">none</p> : <Payload value={first.attributes.input} label="Input" />}
      </section>
      <section>
        <h2>{closing?.type === "WorkflowExecutionCompleted" || !closing ? "Result" : "End"}</h2>
        <End closing={closing} open={d?.status === "running"} />
      </section>
    </div>
  );
}

function End({ closing, open }: { closing: HistoryEvent | undefined; open: boolean }): JSX.Element {
  if (!closing) return <p class="dim">{open ? "The run is open." : "…"}</p>;
  switch (closing.type) {
    case "WorkflowExecutionCompleted":
      return closing.attributes.result === undefined ? <p class="dim">none</p> : <Payload value={closing.attributes.result} label="Result" />;
    case "WorkflowExecutionFailed":
      return <FailureView failure={closing.attributes.failure} open />;
    case "WorkflowExecutionCanceled":
      return closing.attributes.failure ? <FailureView failure={closing.attributes.failure} /> : <p>It was canceled.</p>;
    case "WorkflowExecutionTerminated":
      return <p>It was terminated{closing.attributes.reason ? `: ${closing.attributes.reason}` : "."}</p>;
    case "WorkflowExecutionTimedOut":
      return <p>Its {closing.attributes.executionTimeout ? `execution timeout of ${closing.attributes.executionTimeout}` : `run timeout of ${closing.attributes.runTimeout ?? ""}`} has passed.</p>;
    default:
      return <p>It continued as a new run.</p>;
  }
}
