// What the code of a run waits for, as an offer in forms.
import { useEffect, useState } from "preact/hooks";
import type { RunKey } from "../api/actions.js";
import type { Waits } from "../api/types.js";
import { waits } from "../api/workflows.js";
import { afterPress } from "../lib/press.js";

/** Returns names that the run's code waits for; names picks them. It runs that code, and writes nothing. */
export function useAwaited(run: RunKey, names: (w: Waits) => string[]): string[] {
  const [found, setFound] = useState<string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    waits(run.workflowId, run.runId, abort.signal).then(
      (w) => w && afterPress(() => setFound(names(w))),
      () => undefined, // names are an offer: without them, one is typed
    );
    return () => abort.abort();
  }, []);
  return found;
}
