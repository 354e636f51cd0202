// What the page of a run shows first is asked for before anything else is done. main.tsx imports
// this first, and gives the server a moment to answer: the page is then drawn once, with the answers.
// That takes less time than to draw its frame, and then everything.
import { match, place } from "../lib/route.js";
import type { Description } from "./types.js";
import { describe, firstHistory, type HistoryPage } from "./workflows.js";

/** An answer that was asked for early, once it is there. Nobody has taken it yet. */
interface Early {
  of: string;
  answer: Promise<unknown>;
  value?: unknown;
}

const params = match("workflows/:workflow/:run/:part?/:item?", place.peek().segments);
const early = new Map<string, Early>();

function ask(what: string, of: readonly [string, string], answer: Promise<unknown>): void {
  const e: Early = { of: JSON.stringify(of), answer };
  early.set(what, e);
  answer.then(
    (value) => (e.value = value),
    () => undefined, // whoever takes it gets the error
  );
}

if (params?.workflow && params.run && params.run !== "latest") {
  const of = [params.workflow, params.run] as const;
  ask("history", of, firstHistory(...of));
  ask("description", of, describe(...of));
}

const longestMoment = 100; // milliseconds

/** Waits until all that was asked for early is answered, for a moment at most. Reports whether there are answers. */
export async function moment(): Promise<boolean> {
  if (early.size === 0) return false;
  const all = [...early.values()];
  await Promise.race([Promise.allSettled(all.map((e) => e.answer)), new Promise((done) => setTimeout(done, longestMoment))]);
  return all.some((e) => e.value !== undefined);
}

function find(what: string, workflowId: string, runId: string): Early | undefined {
  const e = early.get(what);
  return e?.of === JSON.stringify([workflowId, runId]) ? e : undefined;
}

/** Returns an answer that has arrived already, once. */
function arrived<T>(what: string, workflowId: string, runId: string): T | undefined {
  const e = find(what, workflowId, runId);
  if (e?.value !== undefined) early.delete(what);
  return e?.value as T | undefined;
}

/** Returns an answer that may still be on its way, once. */
function coming<T>(what: string, workflowId: string, runId: string): Promise<T> | undefined {
  const e = find(what, workflowId, runId);
  early.delete(what);
  return e?.answer as Promise<T> | undefined;
}

/** The first page of a history, if it was asked for early and nobody has taken it. */
export const earlyHistory = {
  arrived: (workflowId: string, runId: string) => arrived<HistoryPage>("history", workflowId, runId),
  coming: (workflowId: string, runId: string) => coming<HistoryPage>("history", workflowId, runId),
};

/** The same for a description. */
export const earlyDescription = {
  arrived: (workflowId: string, runId: string) => arrived<Description>("description", workflowId, runId),
  coming: (workflowId: string, runId: string) => coming<Description>("description", workflowId, runId),
};
