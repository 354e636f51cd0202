// Requests that wait at the server for news. A server that holds them for a moment only says how long
// to pause before the next one.

/** The header of a request that says for how long there has been no news. */
export interface Waited {
  "Weft-Waited"?: string;
}

/** Returns the header of a request that follows the last news, which came at a time. */
export function waitedSince(news: number | undefined): Waited {
  const ms = news === undefined ? 0 : Date.now() - news;
  return ms > 0 ? { "Weft-Waited": `${String(Math.trunc(ms))}ms` } : {};
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 0.001, "µs": 0.001, ns: 0.000_001 };

/** Returns the milliseconds to pause after an answer: what it says, or else these. */
export function pauseAfter(answer: { retryAfter?: string }, otherwise: number): number {
  const parts = [...(answer.retryAfter ?? "").matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)];
  return parts.length === 0 ? otherwise : parts.reduce((sum, [, number, unit]) => sum + Number(number) * (units[unit ?? ""] ?? 0), 0);
}
