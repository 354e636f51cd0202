/**
 * What requests have cost: writes, reads and messages, counted by the server. A sum includes the
 * attempts that were refused. An answer that was lost is not in it.
 */
export interface Cost {
  /** Writes to the store. */
  writes: number;
  /** Reads from the store. */
  reads: number;
  /** Messages sent. */
  messages: number;
  /** Writes that lost a race: billed, and nothing written. */
  lost: number;
  /** Large bodies that were offloaded. */
  blobPuts: number;
  /** Large bodies that were read back. */
  blobGets: number;
}

/** Returns a cost of nothing. */
export function noCost(): Cost {
  return { writes: 0, reads: 0, messages: 0, lost: 0, blobPuts: 0, blobGets: 0 };
}

/** Returns the sum of two costs. */
export function addCosts(a: Cost, b: Cost): Cost {
  const sum = noCost();
  for (const part of Object.keys(sum) as (keyof Cost)[]) {
    sum[part] = a[part] + b[part];
  }
  return sum;
}

/** Returns what an answer says that its request has cost. Nothing, if the answer is not Weft's. */
export function costOf(response: Response): Cost {
  const cost = noCost();
  for (const [, part = "", count] of (response.headers.get("Weft-Cost") ?? "").matchAll(/(\w+)=(\d+)/g)) {
    if (Object.hasOwn(cost, part)) {
      cost[part as keyof Cost] = Number(count);
    }
  }
  return cost;
}
