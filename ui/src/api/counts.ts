// How many runs there are, by status, type or fact.
import { unknownPath, withFeature } from "./features.js";
import { get } from "./http.js";

export type GroupBy = "ExecutionStatus" | "WorkflowType" | "BuildId" | "Stuck" | "Paused" | "Retrying" | "CloseReason";

/** Which runs are counted. */
export interface Selection {
  filter: string;
  /** Whether the filter may name search attributes that no recent run has. */
  unknown?: boolean;
}

/** How many runs meet a filter, and how many of each group. */
export interface Counts {
  count: number;
  groups: Map<string, number>;
  /** Whether the server has not looked at all runs yet: the numbers are the least. */
  more: boolean;
  /** Where to count on; absent if more is false. */
  next: string | undefined;
  /** How many requests it took. */
  pages: number;
}

interface CountAnswer {
  count: number;
  groups?: { value: string; count: number }[];
  more?: boolean;
  pageToken?: string;
  nextPageToken?: string;
}

/** Counts the runs that meet a filter. It goes on from an earlier count. Undefined: the server cannot count. */
export async function countRuns({ filter, unknown }: Selection, groupBy: GroupBy, from: Counts | undefined, abort: AbortSignal): Promise<Counts | undefined> {
  const answer = await withFeature<CountAnswer | undefined>(
    "counts",
    () => get("counts", { filter, unknown: unknown ? "allow" : undefined, groupBy, pageToken: from?.next }, abort),
    () => Promise.resolve(undefined),
    unknownPath,
  );
  if (!answer) return undefined;
  const groups = new Map(from?.groups);
  for (const g of answer.groups ?? []) groups.set(g.value, (groups.get(g.value) ?? 0) + g.count);
  const next = answer.nextPageToken ?? answer.pageToken;
  return { count: (from?.count ?? 0) + answer.count, groups, more: answer.more ?? next !== undefined, next, pages: (from?.pages ?? 0) + 1 };
}

/** How many requests a count takes at most, and after how many milliseconds it begins no further one. */
export const mostPages = 10;
const longestCount = 10_000;

/** Counts as countRuns does, and adds the pages up. A count ends early, with what it has, in a hidden tab. */
export async function countPages(selection: Selection, groupBy: GroupBy, abort: AbortSignal): Promise<Counts | undefined> {
  const began = Date.now();
  let counts = await countRuns(selection, groupBy, undefined, abort);
  while (counts?.next && counts.pages < mostPages && !document.hidden && Date.now() - began < longestCount) {
    abort.throwIfAborted();
    counts = await countRuns(selection, groupBy, counts, abort);
  }
  return counts;
}
