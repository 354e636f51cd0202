// Requests about runs.
import type { Selection } from "./counts.js";
import { at, get, type Query } from "./http.js";
import { has, lack, unknownParameter, unknownPath, withFeature } from "./features.js";
import { waitedSince } from "./pauses.js";
import { Refused } from "./http.js";
import type { Description, History, Result, Runs, Summary, Waits } from "./types.js";

/** A page of runs. */
export interface RunsPage {
  runs: Summary[];
  /** The token of the next page; absent from the last one. */
  next: string | undefined;
  /** A hash of the page, with which a request can wait for a change; an older server has none. */
  version: string | undefined;
  /** When the page differed from the one before. */
  since: number;
  /** How long to pause before the next request, if the server says it. */
  retryAfter?: string;
}

interface ListAnswer {
  retryAfter?: string;
  workflows: Summary[];
  nextPageToken?: string;
  version?: string;
}

/** How many runs a page should have. */
const pageSize = 50;
/** How many answers make a page at most: the server may answer with few runs, and more to look at. */
const mostAnswers = 5;
/** How long a request waits at the server for news. */
const wait = "20s";

/**
 * Reads a page of the runs that meet a filter, those started last first. With a version it waits
 * until the page differs from it. The server may answer with few runs of many that it has looked at,
 * so the page may need several requests.
 */
export async function listRuns({ filter, unknown }: Selection, pageToken: string | undefined, previous: Pick<RunsPage, "version" | "since"> | undefined, abort: AbortSignal): Promise<RunsPage> {
  const version = previous?.version;
  const runs: Summary[] = [];
  let next = pageToken;
  let first: string | undefined;
  let retryAfter: string | undefined;
  for (let i = 0; i < mostAnswers && (i === 0 || (next && runs.length < pageSize)); i++) {
    const waits = i === 0 && version !== undefined;
    const waited = waits ? waitedSince(previous?.since) : {};
    const query: Query = { filter, unknown: unknown ? "allow" : undefined, pageToken: next, ...(waits ? { wait, version } : {}) };
    const answer: ListAnswer = await withFeature<ListAnswer>(
      "pageSize",
      () => get("workflows", { ...query, pageSize }, abort, waited),
      () => get("workflows", query, abort, waited),
      unknownParameter("pageSize"),
    );
    runs.push(...answer.workflows);
    next = answer.nextPageToken;
    first ??= answer.version;
    if (i === 0) retryAfter = answer.retryAfter;
  }
  const same = previous !== undefined && first === version;
  return { runs, next, version: first, since: same ? previous.since : Date.now(), ...(retryAfter === undefined ? {} : { retryAfter }) };
}

/** Describes a run; without a run, the latest one of the workflow. */
export function describe(workflowId: string, runId: string | undefined, abort?: AbortSignal): Promise<Description> {
  return withFeature(
    "children",
    () => get<Description>(at`workflows/${workflowId}`, { runId, children: childrenDescribed }, abort),
    () => get<Description>(at`workflows/${workflowId}`, { runId }, abort),
    unknownParameter("children"),
  );
}

/** Of how many pending children a description says the state, at a read each. */
const childrenDescribed = 10;

/** Returns how a run ended, or that it is open. */
export function result(workflowId: string, runId: string, abort?: AbortSignal): Promise<Result> {
  return get(at`workflows/${workflowId}/result`, { runId }, abort);
}

/** A page of a history, with what an answer to a wait has besides. */
export type HistoryPage = History & { nextPageToken?: string };

/** How many events the page of a run is drawn of first. */
const firstEvents = 200;

/** Reads the first page of a history, which is short, so that it is there soon. */
export function firstHistory(workflowId: string, runId: string): Promise<HistoryPage> {
  return withFeature(
    "historyPageSize",
    () => get<HistoryPage>(at`workflows/${workflowId}/history`, { runId, pageSize: firstEvents }),
    () => history(workflowId, runId, 1),
    unknownParameter("pageSize"),
  );
}

/** Reads a page of a history: the first, or the one that begins at an event. */
export function history(workflowId: string, runId: string, from: number, abort?: AbortSignal): Promise<HistoryPage> {
  return get(at`workflows/${workflowId}/history`, { runId, pageToken: from > 1 ? `${runId}/${from}` : undefined }, abort);
}

/**
 * Reads the events of a run from one on. It waits at the server until there are any, if the server
 * can; waited says whether it can. The caller has had no news since a time.
 */
export async function historyWhenMore(workflowId: string, runId: string, from: number, since: number, abort?: AbortSignal): Promise<{ page: HistoryPage; waited: boolean }> {
  if (has("historyWait")) {
    try {
      return { page: await get(at`workflows/${workflowId}/history`, { runId, from, wait }, abort, waitedSince(since)), waited: true };
    } catch (error) {
      if (!(error instanceof Refused) || !(unknownParameter("from")(error) || unknownParameter("wait")(error))) throw error;
      lack("historyWait");
    }
  }
  return { page: await history(workflowId, runId, from, abort), waited: false };
}

/** Says where the code of a run waits. Undefined: the server cannot say it. */
export function waits(workflowId: string, runId: string, abort?: AbortSignal): Promise<Waits | undefined> {
  return withFeature<Waits | undefined>("waits", () => get(at`workflows/${workflowId}/waits`, { runId }, abort), () => Promise.resolve(undefined), unknownPath);
}

/** Lists the runs of a workflow, the latest first. Undefined: the server cannot list them. */
export function runsOf(workflowId: string, pageToken?: string, abort?: AbortSignal): Promise<Runs | undefined> {
  return withFeature<Runs | undefined>("runs", () => get(at`workflows/${workflowId}/runs`, { pageToken }, abort), () => Promise.resolve(undefined), unknownPath);
}
