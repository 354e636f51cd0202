// An older server lacks routes and parameters that the page knows. The page then does without them,
// and asks for each of them only once.
import { signal } from "@preact/signals";
import { Refused } from "./http.js";

/** What an older server may lack. */
export type Feature = "counts" | "costs" | "historyPageSize" | "historyWait" | "listWait" | "pageSize" | "runs" | "waits" | "children" | "stateFilters" | "types" | "contract" | "deployment";

/** What the server was found to lack. */
export const lacks = signal<ReadonlySet<Feature>>(new Set());

/** Reports whether the server may have a feature. */
export function has(feature: Feature): boolean {
  return !lacks.value.has(feature);
}

/** Notes that the server lacks a feature. */
export function lack(feature: Feature): void {
  if (!lacks.peek().has(feature)) lacks.value = new Set(lacks.peek()).add(feature);
}

/**
 * Asks with a feature, or without it if the server lacks it. A server refuses a parameter that it
 * does not know as invalid, and a path as not found; missing says which refusal means that.
 */
export async function withFeature<T>(feature: Feature, ask: () => Promise<T>, without: () => Promise<T>, missing: (refused: Refused) => boolean): Promise<T> {
  if (!has(feature)) return without();
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Refused) || !missing(error)) throw error;
    lack(feature);
    return without();
  }
}

/** Reports whether a refusal means that the server does not know a parameter of the query string. */
export function unknownParameter(name: string): (refused: Refused) => boolean {
  return (refused) => refused.kind === "invalid" && refused.message.includes(`no parameter "${name}"`);
}

/** Reports whether a refusal means that the server has no such path. */
export function unknownPath(refused: Refused): boolean {
  return refused.kind === "not-found" && refused.message.startsWith("there is nothing at");
}
