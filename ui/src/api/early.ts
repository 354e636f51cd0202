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

const longestWait = 100; // milliseconds

/** Waits until all that was asked for early is answered, for a moment at most. Reports whether there are answers. */
export async function awaitEarly(): Promise<boolean> {
  if (early.size === 0) return false;
  const all = [...early.values()];
  await Promise.race([Promise.allSettled(all.map((e) => e.answer)), new Promise((done) => setTimeout(done, longestWait))]);
  return all.some((e) => e.value !== undefined);
}

/** An answer that was asked for early, once: whoever takes it first gets it. */
export interface EarlyAnswer<T> {
  /** Takes the answer if it has arrived already. */
  arrived(workflowId: string, runId: string): T | undefined;
  /** Takes the answer, which may still be on its way. */
  coming(workflowId: string, runId: string): Promise<T> | undefined;
}

function answerTo<T>(what: string): EarlyAnswer<T> {
  const find = (workflowId: string, runId: string): Early | undefined => {
    const e = early.get(what);
    return e?.of === JSON.stringify([workflowId, runId]) ? e : undefined;
  };
  return {
    arrived(workflowId, runId) {
      const e = find(workflowId, runId);
      if (e?.value !== undefined) early.delete(what);
      return e?.value as T | undefined;
    },
    coming(workflowId, runId) {
      const e = find(workflowId, runId);
      early.delete(what);
      return e?.answer as Promise<T> | undefined;
    },
  };
}

/** The first page of a history. */
export const earlyHistory = answerTo<HistoryPage>("history");

/** A description. */
export const earlyDescription = answerTo<Description>("description");
