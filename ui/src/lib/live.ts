// What is shown refreshes by itself. A loader may wait at the server for news (a long poll); the
// page then asks again at once. One that cannot wait is asked at an interval. Nothing is asked while
// the tab is hidden, or after the user has paused the page. Nothing changes below a pressed pointer.
import { signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { drawn } from "./drawn.js";
import { afterPress } from "./press.js";

/** Whether the page refreshes itself. */
export const live = signal(true);

/** What a loader returns. */
export interface Loaded<T> {
  value: T;
  /** Milliseconds until the next load; 0 after a wait at the server; undefined if it cannot change any more. */
  again: number | undefined;
}

/**
 * Loads a value. previous is what it returned before. It may wait at the server for news only if
 * mayWait is set: otherwise somebody waits for the answer.
 */
export type Loader<T> = (abort: AbortSignal, previous: T | undefined, mayWait: boolean) => Promise<Loaded<T>>;

/** A value that refreshes itself. */
export interface Live<T> {
  value: T | undefined;
  /** Why the last load failed; the value is the one before. */
  error: unknown;
  /** Whether nothing was loaded yet. */
  loading: boolean;
  /** Loads at once, also while the page is paused. */
  refresh: () => void;
}

const longestPause = 30_000;

/** Waits until a span has passed, the page may ask again, and the signal has not aborted. */
function pause(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const unsubscribe: (() => void)[] = [];
    let passed = false;
    const look = (): void => {
      if (!abort.aborted && (!passed || document.hidden || !live.value)) return;
      for (const f of unsubscribe) f();
      done();
    };
    const timer = setTimeout(() => {
      passed = true;
      look();
    }, ms);
    abort.addEventListener("abort", look);
    document.addEventListener("visibilitychange", look);
    unsubscribe.push(
      () => clearTimeout(timer),
      () => abort.removeEventListener("abort", look),
      () => document.removeEventListener("visibilitychange", look),
    );
    unsubscribe.push(live.subscribe(look));
  });
}

/**
 * Loads a value while a component is shown, and again as its loader says. A change of the key starts
 * anew, without the value before. While a load fails, the next follows ever later. early returns what
 * was loaded before the component is shown for the first time, if anything: it is shown at once.
 */
export function useLive<T>(key: string, load: Loader<T>, early?: () => Loaded<T> | undefined): Live<T> {
  const first = useRef<Loaded<T> | undefined>(undefined);
  const [state, setState] = useState<{ key: string; value: T | undefined; error: unknown }>(() => {
    first.current = early?.();
    return { key, value: first.current?.value, error: undefined };
  });
  const latest = useRef(load);
  latest.current = load;
  const kick = useRef<() => void>(() => undefined);
  useLayoutEffect(() => {
    // Before the frame is painted: the server answers meanwhile.
    const whole = new AbortController();
    let given = first.current;
    first.current = undefined;
    let value = given?.value;
    let mayWait = false;
    const run = async (): Promise<void> => {
      await drawn;
      for (let failures = 0; !whole.signal.aborted; ) {
        const one = new AbortController();
        const stop = (): void => one.abort();
        whole.signal.addEventListener("abort", stop);
        let fresh = false;
        kick.current = () => {
          fresh = true;
          one.abort();
        };
        let again: number | undefined = 0;
        try {
          const loaded = given ?? (await latest.current(one.signal, value, mayWait));
          if (!given) await new Promise<void>(afterPress);
          if (whole.signal.aborted) return;
          failures = 0;
          value = loaded.value;
          again = loaded.again;
          if (!given) setState({ key, value, error: undefined });
          given = undefined;
        } catch (error) {
          await new Promise<void>(afterPress);
          if (whole.signal.aborted) return;
          if (!fresh) {
            failures++;
            again = Math.min(longestPause, 1000 * 2 ** failures);
            setState({ key, value, error });
          }
        }
        if (!fresh) await pause(again ?? 2 ** 30, one.signal);
        whole.signal.removeEventListener("abort", stop);
        mayWait = !fresh && value !== undefined;
      }
    };
    void run();
    return () => whole.abort();
  }, [key]);
  const refresh = useMemo(() => () => kick.current(), []);
  const current = state.key === key;
  return { value: current ? state.value : undefined, error: current ? state.error : undefined, loading: !current || (state.value === undefined && state.error === undefined), refresh };
}
