import { again, type Again, type Pause } from "./again.js";
import { addCosts, noCost, type Cost } from "./cost.js";
import { WeftError } from "./problem.js";

/** How long a caller waits. */
export interface WaitOptions {
  /** Ends only the wait. A request that was sent still takes effect. */
  signal?: AbortSignal;
  /**
   * When the wait ends at the latest, as a time or in milliseconds since 1970. The server learns how
   * much time is left. Until then a request is repeated as often as it takes. The promise then
   * rejects with {@link DeadlinePassed}.
   */
  deadline?: Date | number;
}

/**
 * A deadline that passed. A request that was sent may have taken effect. `cause` is why the last
 * attempt failed, if one did.
 */
export class DeadlinePassed extends WeftError {
  override readonly name = "DeadlinePassed";

  constructor(cause?: unknown) {
    super("the deadline has passed: the request may have taken effect", { cause });
  }
}

/** The longest time that a server takes for a request, in milliseconds. */
const longest = 20_000;

/**
 * The pause between two requests of a call that waits, in milliseconds, if the server asks for no
 * longer one: a server that is stopping answers at once.
 */
const pollPause = 50;

/** The longest pause between two requests, in milliseconds, if the client's options have none. */
const longestPause = 5 * 60_000;

/** The longest time of a timer, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** One call of a method of the client: its time, and its cost so far. */
export class Wait {
  /** What the requests have cost that were answered so far. */
  cost: Cost;
  /** Aborts when the caller does, or at the deadline. */
  readonly signal: AbortSignal | undefined;
  readonly #deadline: number | undefined;
  readonly #pause: Pause;
  readonly #longest: number;
  readonly #began = Date.now();
  #paused = 0;
  #failed: unknown;
  #end = (): void => undefined;

  constructor({ signal, deadline }: WaitOptions, pause: Pause, cost = noCost(), longest = longestPause) {
    this.cost = cost;
    this.signal = signal;
    this.#pause = pause;
    this.#longest = longest;
    if (deadline === undefined) {
      return;
    }
    this.#deadline = Number(deadline);
    if (Number.isNaN(this.#deadline)) {
      throw new RangeError("the deadline is not a time");
    }
    const both = new AbortController();
    this.signal = both.signal;
    const leave = (): void => both.abort(signal?.reason);
    if (signal?.aborted) {
      leave();
      return;
    }
    signal?.addEventListener("abort", leave, { once: true });
    const left = this.#left();
    const timer = left <= longestTimer ? setTimeout(() => both.abort(new DeadlinePassed(this.#failed)), left) : undefined;
    this.#end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    };
    if (left === 0) {
      both.abort(new DeadlinePassed());
    }
  }

  /** Returns the milliseconds until the deadline, at least 0. */
  #left(): number {
    return this.#deadline === undefined ? Infinity : Math.max(this.#deadline - Date.now(), 0);
  }

  /** Whether the caller has set a deadline. */
  get bounded(): boolean {
    return this.#deadline !== undefined;
  }

  /**
   * Returns how long the server may take for the next request, for example `20s`. A tenth of the
   * time that is left, at most half a second, is for the way there and back.
   */
  get long(): string {
    const left = this.#left();
    const most = Math.min(left - Math.min(left / 10, 500), longest);
    return most === longest ? "20s" : `${Math.trunc(most)}ms`;
  }

  /** Adds what an answer has cost. */
  add(cost: Cost): void {
    this.cost = addCosts(this.cost, cost);
  }

  /** Returns the header that says how long the call has waited, if it has. */
  get waited(): { "Weft-Waited"?: string } {
    const ms = Math.trunc(Math.max(Date.now() - this.#began, this.#paused));
    return ms > 0 ? { "Weft-Waited": `${ms}ms` } : {};
  }

  /**
   * Pauses after an answer without news, for as long as its `retryAfter` says: a tenth or a second
   * more or less, so that callers who began together do not ask together. Before the deadline there is time for
   * one more request.
   */
  async pause({ retryAfter }: { retryAfter?: string | undefined }): Promise<void> {
    const asked = milliseconds(retryAfter);
    let ms = pollPause;
    if (asked > 0) {
      const most = Math.min(asked, this.#longest);
      ms = Math.max(Math.min(most + (2 * Math.random() - 1) * Math.min(most / 10, 1000), this.#longest), pollPause);
      const left = this.#left();
      const last = left - Math.min(left / 10, 500);
      ms = left < ms && last >= 1 ? last : ms;
    }
    await this.#pause(ms, this.signal);
    this.#paused += ms;
  }

  /** Sends a request, and repeats it as {@link again} does. A request that `polls` writes nothing. */
  again<T>(send: () => Promise<T>, polls = false): Promise<T> {
    const remember = async (): Promise<T> => {
      try {
        return await send();
      } catch (error) {
        if (!this.signal?.aborted) {
          this.#failed = error;
        }
        throw error;
      }
    };
    const how: Again = { bounded: this.bounded, polls };
    return again(remember, this.#pause, this.signal, how);
  }

  /** Stops the timer of the deadline. */
  end(): void {
    this.#end();
  }
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 0.001, "µs": 0.001, ns: 0.000_001 };

/** Returns the milliseconds of a duration such as `1m30.5s`; 0 of anything else. */
export function milliseconds(duration: string | undefined): number {
  const part = /(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/gy;
  let sum = 0;
  let end = 0;
  for (let found = part.exec(duration ?? ""); found !== null; found = part.exec(duration ?? "")) {
    sum += Number(found[1]) * (units[found[2] ?? ""] ?? 0);
    end = part.lastIndex;
  }
  return end === duration?.length ? sum : 0;
}
