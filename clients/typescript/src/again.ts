import { Problem } from "./problem.js";

/** Waits some milliseconds, or until the signal aborts; it rejects then. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** A request without an answer; `cause` says why. It may have taken effect. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  constructor(cause: unknown) {
    super(`no answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** How often a request is sent: enough for the time that a deployment needs to restart. */
const attempts = 12;

/**
 * Sends a request, again and again while the answer is lost, busy or unknown. It may be sent twice: it writes nothing, or
 * carries an id.
 */
export async function again<T>(send: () => Promise<T>, pause: Pause, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const refused = error instanceof Problem && error.again;
      if (signal?.aborted || attempt === attempts || !(refused || error instanceof NoAnswer)) {
        throw error;
      }
      await pause(backoff(attempt, refused ? error.retryAfter : 0), signal);
    }
  }
}

/**
 * The wait before the next attempt in milliseconds: 25, doubled up to 2 seconds, and up to half of it taken off at random,
 * so that callers who were refused together do not come back together.
 */
function backoff(attempt: number, least: number): number {
  const most = Math.min(25 * 2 ** attempt, 2000);
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
 * Returns a fetch whose answers have come as a whole: one that breaks off is no answer. Where none comes it rejects with
 * NoAnswer, unless the caller has aborted.
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

/** An id for a request, by which it is recognised when it is sent again. */
export function newID(): string {
  // crypto.randomUUID is missing from pages that were not loaded over HTTPS.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
