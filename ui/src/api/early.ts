// What the page of a run shows first is asked for before anything else is done: the rest of the
// page's code runs, and draws the frame, while the server answers. main.tsx imports this first.
import { match, place } from "../lib/route.js";
import type { Description } from "./types.js";
import { describe, history, type HistoryPage } from "./workflows.js";

const params = match("workflows/:workflow/:run/:part?/:item?", place.peek().segments);
const early = new Map<string, Promise<unknown>>();

if (params?.workflow && params.run && params.run !== "latest") {
  const of = [params.workflow, params.run] as const;
  early.set(JSON.stringify(["history", ...of]), history(...of, 1));
  early.set(JSON.stringify(["description", ...of]), describe(...of));
  for (const answer of early.values()) answer.catch(() => undefined); // whoever takes it gets the error
}

/** Returns an answer that was asked for early, once. */
function take<T>(what: string, workflowId: string, runId: string): Promise<T> | undefined {
  const key = JSON.stringify([what, workflowId, runId]);
  const answer = early.get(key) as Promise<T> | undefined;
  early.delete(key);
  return answer;
}

/** Returns the first page of a history, if it was asked for early and nobody has taken it. */
export function earlyHistory(workflowId: string, runId: string): Promise<HistoryPage> | undefined {
  return take("history", workflowId, runId);
}

/** The same for a description. */
export function earlyDescription(workflowId: string, runId: string): Promise<Description> | undefined {
  return take("description", workflowId, runId);
}
