// The page of a run.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Skeleton, Trouble } from "../components/notice.js";
import { go, type Params, runHref } from "../lib/route.js";
import { useDescription, useEvents } from "../run/data.js";
import { EventTable } from "../run/events.js";
import { RunHead } from "../run/facts.js";

/** The page of a run. Without a run, or with "latest", it is the latest run of the workflow. */
export function RunPage({ params }: { params: Params }): JSX.Element {
  const workflowId = params.workflow ?? "";
  useEffect(() => {
    document.title = `${workflowId} · Weft`;
  }, [workflowId]);
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
  const at = params.part === "events" ? Number(params.item) || undefined : undefined;
  if (!d && described.error !== undefined) return <Trouble error={described.error} onRetry={described.refresh} />;
  return (
    <article class="run-page">
      {d ? <RunHead d={d} /> : <Skeleton lines={3} />}
      {described.error !== undefined && <Trouble error={described.error} onRetry={described.refresh} />}
      {events.error !== undefined && <Trouble error={events.error} onRetry={events.refresh} />}
      <EventTable
        events={all}
        more={events.value?.more ?? true}
        total={d?.historyLength ?? all.length}
        workflowId={workflowId}
        at={at}
        eventHref={(id) => runHref(workflowId, runId, "events", String(id))}
      />
    </article>
  );
}
