// What the runs of each type have cost that started in a period.
import { unknownPath, withFeature } from "./features.js";
import { get } from "./http.js";
import type { Cost, CostSum, Costs } from "./types.js";

/** What runs have cost: together, and those of each type. */
export interface Spending {
  all: CostSum;
  types: Map<string, CostSum>;
  /** Whether there are more runs than were summed up. */
  more: boolean;
}

/** How many pages are summed up at most: each may take 5 seconds. */
const mostPages = 4;

/** Sums up what the runs have cost that started at a moment or later. Undefined: the server cannot. */
export function readCosts(startedAfter: Date, abort: AbortSignal): Promise<Spending | undefined> {
  return withFeature<Spending | undefined>("costs", () => sumUp(startedAfter, abort), () => Promise.resolve(undefined), unknownPath);
}

async function sumUp(startedAfter: Date, abort: AbortSignal): Promise<Spending> {
  let sum: Spending | undefined;
  let next: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const answer: Costs = await get("costs", { startedAfter: startedAfter.toISOString(), groupBy: "WorkflowType", pageToken: next }, abort);
    const types = sum?.types ?? new Map<string, CostSum>();
    for (const { value, ...group } of answer.groups ?? []) types.set(value, plus(types.get(value), group));
    next = answer.nextPageToken;
    sum = { all: plus(sum?.all, answer), types, more: next !== undefined };
    if (next === undefined) break;
  }
  return sum as Spending;
}

/** Adds two sums. */
export function plus(a: CostSum | undefined, b: CostSum): CostSum {
  if (!a) return { runs: b.runs, open: b.open, unknown: b.unknown ?? 0, cost: b.cost };
  return { runs: a.runs + b.runs, open: a.open + b.open, unknown: (a.unknown ?? 0) + (b.unknown ?? 0), cost: plusCost(a.cost, b.cost) };
}

function plusCost(a: Cost, b: Cost): Cost {
  return {
    writes: a.writes + b.writes,
    writeUnits: a.writeUnits + b.writeUnits,
    indexUnits: a.indexUnits + b.indexUnits,
    reads: { least: a.reads.least + b.reads.least, most: a.reads.most + b.reads.most },
    readUnits: a.readUnits + b.readUnits,
    messages: a.messages + b.messages,
    queueRequests: a.queueRequests + b.queueRequests,
    invocations: a.invocations + b.invocations,
    dollars: a.dollars + b.dollars,
    estimated: [...new Set([...(a.estimated ?? []), ...(b.estimated ?? [])])],
    prices: a.prices,
  };
}
