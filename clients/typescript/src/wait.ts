import { again, type Pause } from "./again.js";
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
  #failed: unknown;
  #end = (): void => undefined;

  constructor({ signal, deadline }: WaitOptions, pause: Pause, cost = noCost()) {
    this.cost = cost;
    this.signal = signal;
    this.#pause = pause;
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

  /** Waits between two requests. */
  pause(ms: number): Promise<void> {
    return this.#pause(ms, this.signal);
  }

  /** Sends a request, and repeats it as {@link again} does. */
  again<T>(send: () => Promise<T>): Promise<T> {
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
    return again(remember, this.#pause, this.signal, this.bounded);
  }

  /** Stops the timer of the deadline. */
  end(): void {
    this.#end();
  }
}
