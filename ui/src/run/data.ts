// What is known of a run: its description and its events, which follow the run while it is open.
import { useEffect } from "preact/hooks";
import type { Description, HistoryEvent } from "../api/types.js";
import { earlyDescription, earlyHistory } from "../api/early.js";
import { pauseAfter } from "../api/pauses.js";
import { describe, history, type HistoryPage, historyWhenMore } from "../api/workflows.js";
import { millis } from "../lib/format.js";
import { type Live, type Loaded, type Loader, useLive } from "../lib/live.js";
import { now } from "../lib/now.js";

/** The events of a run, as far as they were read. */
export interface Events {
  /** The array grows; each change comes in a new Events. */
  all: readonly HistoryEvent[];
  /** Whether more events are there and not read yet. */
  more: boolean;
  /** When the last of them were read. */
  since: number;
}

const closing = new Set<HistoryEvent["type"]>([
  "WorkflowExecutionCompleted",
  "WorkflowExecutionFailed",
  "WorkflowExecutionCanceled",
  "WorkflowExecutionTerminated",
  "WorkflowExecutionTimedOut",
  "WorkflowExecutionContinuedAsNew",
]);

/** Reports whether an event closes its run. */
export function isClosing(e: HistoryEvent): boolean {
  return closing.has(e.type);
}

/** How often a run is asked for news if the server cannot wait for them, and described at least, in milliseconds. */
const interval = 2000;
const describeEvery = 4000;

/** Reads the events of a run, page by page, and then those that follow. */
export function useEvents(workflowId: string, runId: string): Live<Events> {
  const early = (): Loaded<Events> | undefined => {
    const page = earlyHistory.arrived(workflowId, runId);
    return page && after([], page, false);
  };
  const load: Loader<Events> = async (abort, previous, mayWait) => {
    const all = (previous?.all ?? []) as HistoryEvent[];
    const from = (all.at(-1)?.id ?? 0) + 1;
    const atEnd = previous !== undefined && !previous.more;
    const read = async (): Promise<HistoryPage> => (await earlyHistory.coming(workflowId, runId)) ?? history(workflowId, runId, from, abort);
    const { page, waited } = atEnd && mayWait ? await historyWhenMore(workflowId, runId, from, previous.since, abort) : { page: await read(), waited: false };
    return after(all, page, waited, previous?.since);
  };
  return useLive<Events>(`events ${workflowId} ${runId}`, load, early);
}

/** Adds a page to the events before it. */
function after(all: HistoryEvent[], page: HistoryPage, waited: boolean, before?: number): Loaded<Events> {
  for (const e of page.events) if (e.id > (all.at(-1)?.id ?? 0)) all.push(e);
  const last = all.at(-1);
  const more = page.nextPageToken !== undefined;
  const again = more ? 0 : last && isClosing(last) ? undefined : waited ? pauseAfter(page, 100) : interval;
  const since = before === undefined || page.events.length > 0 ? Date.now() : before;
  return { value: { all, more, since }, again };
}

/** Describes a run, again whenever it has new events, and when an attempt is due. */
export function useDescription(workflowId: string, runId: string | undefined, lastEvent: number): Live<Description> {
  const loaded = (value: Description): Loaded<Description> => ({ value, again: value.status === "running" ? nextLook(value) : undefined });
  const early = (): Loaded<Description> | undefined => {
    const value = runId === undefined ? undefined : earlyDescription.arrived(workflowId, runId);
    return value && loaded(value);
  };
  const load: Loader<Description> = async (abort) => loaded((runId !== undefined && (await earlyDescription.coming(workflowId, runId))) || (await describe(workflowId, runId, abort)));
  const described = useLive<Description>(`describe ${workflowId} ${runId ?? ""}`, load, early);
  const known = described.value?.historyLength ?? 0;
  useEffect(() => {
    if (known > 0 && lastEvent > known) described.refresh();
  }, [lastEvent > known]);
  return described;
}

/** Returns in how many milliseconds something about a run may have changed without an event. */
function nextLook(d: Description): number {
  const attempts = [...d.pendingActivities.map((a) => a.nextAttemptAt), d.stuckTask?.nextAttemptAt].filter((t) => t !== undefined);
  const due = attempts.map((t) => millis(t) - now.peek() + 200).filter((ms) => ms > 0);
  return Math.max(500, Math.min(describeEvery, ...due));
}
