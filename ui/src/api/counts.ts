// How many runs there are, by status, type or fact.
import { unknownPath, withFeature } from "./features.js";
import { get } from "./http.js";

export type GroupBy = "ExecutionStatus" | "WorkflowType" | "BuildId" | "Stuck" | "Paused" | "Retrying" | "CloseReason";

/** How many runs meet a filter, and how many of each group. */
export interface Counts {
  count: number;
  groups: Map<string, number>;
  /** Whether the server has not looked at all runs yet: the numbers are the least. */
  more: boolean;
  /** Where to count on; absent if more is false. */
  next: string | undefined;
}

interface CountAnswer {
  count: number;
  groups?: { value: string; count: number }[];
  more?: boolean;
  pageToken?: string;
  nextPageToken?: string;
}

/** Counts the runs that meet a filter. It goes on from an earlier count. Undefined: the server cannot count. */
export async function countRuns(filter: string, groupBy: GroupBy, from: Counts | undefined, abort: AbortSignal): Promise<Counts | undefined> {
  const answer = await withFeature<CountAnswer | undefined>(
    "counts",
    () => get("counts", { filter, groupBy, pageToken: from?.next }, abort),
    () => Promise.resolve(undefined),
    unknownPath,
  );
  if (!answer) return undefined;
  const groups = new Map(from?.groups);
  for (const g of answer.groups ?? []) groups.set(g.value, (groups.get(g.value) ?? 0) + g.count);
  const next = answer.nextPageToken ?? answer.pageToken;
  return { count: (from?.count ?? 0) + answer.count, groups, more: answer.more ?? next !== undefined, next };
}
