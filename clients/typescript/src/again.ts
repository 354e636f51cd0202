import { Problem, WeftError } from "./problem.js";

/** Waits some milliseconds. It rejects if the signal aborts first. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** A request without an answer. `cause` is the reason. The request may have taken effect. */
export class NoAnswer extends WeftError {
  override readonly name = "NoAnswer";

  constructor(cause: unknown) {
    super(`no answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * How often a request is sent at most, if it has no deadline: enough for the time that a deployment
 * takes to restart.
 */
const attempts = 12;

/** How a request is repeated. */
export interface Again {
  /** The signal has a deadline, which ends the attempts. */
  bounded?: boolean;
  /** The request only waits: while the server refuses it for lack of capacity, it is no attempt. */
  polls?: boolean;
}

/**
 * Sends a request, and repeats it while the answer is lost, busy or unknown. It throws the last
 * error when the attempts are over, and every other error at once. With a bounded signal, the
 * attempts are over when the signal aborts. The request must be safe to repeat: it writes nothing,
 * or carries an id.
 */
export async function again<T>(send: () => Promise<T>, pause: Pause, signal?: AbortSignal, { bounded = false, polls = false }: Again = {}): Promise<T> {
  for (let attempt = 1, refusals = 0; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const refused = error instanceof Problem && error.again;
      if (signal?.aborted || (!bounded && attempt >= attempts) || !(refused || error instanceof NoAnswer)) {
        throw error;
      }
      const full = polls && refused && capacity.has(error.status);
      if (full) {
        attempt--;
        refusals++;
      }
      await pause(full ? backoff(refusals, error.retryAfter, longestBackoff) : backoff(attempt, refused ? error.retryAfter : 0), signal);
    }
  }
}

/** The statuses of a server, or a gateway before it, that has no capacity for a request now. */
const capacity: ReadonlySet<number> = new Set([429, 503]);

/** The longest wait of a call that only waits, in milliseconds. */
const longestBackoff = 60_000;

/**
 * Returns the wait before the next attempt in milliseconds, at least `least`. The wait doubles with
 * each attempt, from 50 ms to 2 seconds, or to `longest`. Up to half of it is taken off at random, so that callers
 * who were refused together do not retry together.
 */
function backoff(attempt: number, least: number, longest = 2000): number {
  const most = Math.min(25 * 2 ** Math.min(attempt, 12), longest);
  return Math.max(most - Math.random() * (most / 2), least);
}

/** Waits in real time. */
export const pause: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });

/**
 * Returns a fetch that resolves when it has read the whole answer. It rejects with NoAnswer if
 * there is no answer, or if the answer breaks off. If the caller has aborted, it rejects with the
 * caller's reason.
 */
export function whole(fetch: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
  return async (request) => {
    request.signal.throwIfAborted();
    try {
      const response = await fetch(request);
      const body = await response.arrayBuffer();
      return new Response(body.byteLength > 0 ? body : null, response);
    } catch (error) {
      request.signal.throwIfAborted();
      throw new NoAnswer(error);
    }
  };
}

/**
 * Returns a new id for a request. By the id, the server recognises the request when it is repeated.
 */
export function newID(): string {
  // crypto.randomUUID is missing from pages that were not loaded over HTTPS.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
