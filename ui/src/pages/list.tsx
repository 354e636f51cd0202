// The list of runs.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { BatchForm } from "../actions/batch.js";
import { StartButton } from "../actions/startbutton.js";
import type { Selection } from "../api/counts.js";
import { has, lack, unknownParameter } from "../api/features.js";
import { types } from "../api/deployment.js";
import { Refused } from "../api/http.js";
import type { Summary } from "../api/types.js";
import { allowUnknown, isUnknownName, withoutParameter } from "../api/unknown.js";
import { listRuns, type RunsPage } from "../api/workflows.js";
import { Icon } from "../components/icon.js";
import { Empty, Skeleton, Trouble } from "../components/notice.js";
import { Pager } from "../components/pager.js";
import { momentOf } from "../lib/address.js";
import { allRuns, type Choice, choiceOf, conditionOf, filterOf, isEmpty, quote, queryOf, shownFilterOf, toggled } from "../lib/filter.js";
import { useKeys } from "../lib/keys.js";
import { type Loaded, useLive } from "../lib/live.js";
import { pauseAfter } from "../api/pauses.js";
import { now } from "../lib/now.js";
import { place, setQuery } from "../lib/route.js";
import { useTitle } from "../lib/title.js";
import { Facets } from "../list/facets.js";
import { RunsTable } from "../list/table.js";

/** How often the list is read if the server cannot wait for a change, in milliseconds. */
const interval = 4000;
/** How many rows may be new in a refresh and still be marked as such. */
const mostMarked = 20;

/** Reads the page; later it waits until the page has changed, if the server can. */
async function load(selection: Selection, pageToken: string | undefined, abort: AbortSignal, previous: RunsPage | undefined, mayWait: boolean): Promise<Loaded<RunsPage>> {
  const before = mayWait && has("listWait") && previous?.version !== undefined ? previous : undefined;
  try {
    const value = await listRuns(selection, pageToken, before, abort);
    return { value, again: value.version !== undefined && has("listWait") ? pauseAfter(value, 250) : interval };
  } catch (error) {
    if (before === undefined || !(error instanceof Refused) || !unknownParameter("wait")(error)) throw error;
    lack("listWait");
    return { value: await listRuns(selection, pageToken, undefined, abort), again: interval };
  }
}

/** Returns the runs of a page that the page before it did not have. */
function useNew(runs: Summary[] | undefined, key: string): ReadonlySet<string> {
  const known = useRef<{ key: string; ids: Set<string> }>(undefined);
  return useMemo(() => {
    if (!runs) return new Set<string>();
    const ids = new Set(runs.map((r) => r.runId + r.workflowId));
    const before = known.current;
    known.current = { key, ids };
    if (before?.key !== key) return new Set<string>();
    const fresh = [...ids].filter((id) => !before.ids.has(id));
    return new Set(fresh.length <= mostMarked ? fresh : []);
  }, [runs, key]);
}

/** The list of runs. */
export function ListPage(): JSX.Element {
  const query = place.value.query;
  const choice = choiceOf(query);
  const pageToken = query.get("page") ?? undefined;
  const at = momentOf(query.get("at"), now.peek()); // later pages need the filter of the first one
  const selection = { filter: shownFilterOf(choice, at), unknown: choice.unknown };
  const key = JSON.stringify([shownFilterOf(choice, 0), choice.unknown, query.get("at"), pageToken]);
  const data = useLive<RunsPage>(key, (abort, previous, mayWait) => load(selection, pageToken, abort, previous, mayWait));
  const runs = data.value?.runs;
  const fresh = useNew(runs, key);
  const seen = useSeenTypes(runs);
  const choose = (changes: Partial<Choice>): void => setQuery({ ...queryOf({ ...choice, ...changes }), at: undefined });
  const next = (): void => {
    if (data.value?.next) setQuery({ page: data.value.next, at: String(at) });
  };
  useKeys("List", [
    { keys: "n", does: "Next page", run: next },
    { keys: "p", does: "Previous page", run: () => pageToken && history.back() },
    { keys: "r", does: "Refresh now", run: data.refresh },
    { keys: "x", does: "Clear the filter", run: () => choose(allRuns) },
  ]);
  useTitle("Runs");
  useEffect(() => scrollTo(0, 0), [pageToken]);
  return (
    <div class="list-page">
      <h1 class="sr-only">Runs</h1>
      <Facets choice={choice} at={at} choose={choose} seen={seen} />
      <section class="grow" aria-label="Runs">
        <div class="list-tools">
          <FilterBox choice={choice} choose={choose} />
          <BatchButton filter={filterOf(choice, at, "order")} unknown={choice.unknown} />
          <StartButton />
        </div>
        {data.error !== undefined && <NotListed error={data.error} onRetry={data.refresh} allow={() => choose({ unknown: true })} />}
        {data.loading && <Skeleton lines={8} />}
        {runs && runs.length === 0 && (
          <NoRuns choice={choice} more={data.value?.next !== undefined} clear={() => choose(allRuns)} />
        )}
        {runs && runs.length > 0 && <RunsTable runs={runs} fresh={fresh} onType={(type) => choose({ types: toggled(choice.types, type) })} onAttribute={(condition) => choose({ text: and(choice.text, condition) })} />}
        {data.value && <Pager token={pageToken} next={data.value.next} onNext={next} />}
      </section>
    </div>
  );
}

/** Says why the runs are not listed. A search attribute that no recent run has can be allowed. */
function NotListed({ error, onRetry, allow }: { error: unknown; onRetry: () => void; allow: () => void }): JSX.Element {
  if (!isUnknownName(error)) return <Trouble error={error} onRetry={onRetry} />;
  return (
    <Trouble error={withoutParameter(error)}>
      <button type="button" onClick={allow}>
        {allowUnknown}
      </button>
    </Trouble>
  );
}

/** A button that opens the form of a batch over all runs that the list has. */
function BatchButton({ filter, unknown }: { filter: string; unknown: boolean }): JSX.Element {
  const [form, setForm] = useState(false);
  useKeys("List", [{ keys: "a", does: "Act on all that match", run: () => setForm(true) }]);
  return (
    <>
      <button type="button" onClick={() => setForm(true)}>
        <Icon name="filter" size={14} /> Act on all…
      </button>
      {form && <BatchForm filter={filter || "ExecutionStatus = 'Running'"} unknown={unknown} onClose={() => setForm(false)} />}
    </>
  );
}

/** Adds a condition to the text of the filter box. */
function and(text: string, condition: string): string {
  const before = text.trim() && conditionOf(text);
  if (!before || before.includes(condition)) return before || condition;
  return `${/\bOR\b/i.test(before) ? `(${before})` : before} AND ${condition}`;
}

/** Collects the types of the program and of the runs that were seen, for servers that cannot count. */
function useSeenTypes(runs: Summary[] | undefined): string[] {
  const [seen, setTypes] = useState<string[]>([]);
  const registered = useLive("types", async (abort) => ({ value: await types(abort), again: undefined })).value;
  useEffect(() => {
    const all = new Set([...seen, ...(runs ?? []).map((r) => r.type), ...(registered?.workflows ?? []).map((t) => t.name)]);
    if (all.size > seen.length) setTypes([...all].sort());
  }, [runs, registered]);
  return seen;
}

/** The box for what cannot be clicked. */
function FilterBox({ choice, choose }: { choice: Choice; choose: (c: Partial<Choice>) => void }): JSX.Element {
  const [text, setText] = useState(choice.text);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(choice.text), [choice.text]);
  useKeys("List", [{ keys: "/", does: "Filter", run: () => input.current?.select() }]);
  return (
    <form
      class="filter-box"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        choose({ text, unknown: false });
      }}
    >
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        value={text}
        aria-label="Filter: a workflow id, or conditions"
        placeholder="Workflow id, or conditions: Region = 'eu' AND Amount > 100"
        spellcheck={false}
        autocomplete="off"
        onInput={(e) => {
          setText(e.currentTarget.value);
          if (e.currentTarget.value === "") choose({ text: "", unknown: false }); // the cross of the box
        }}
        onKeyDown={(e) => {
          if (e.key === "Escape") e.currentTarget.blur();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** Says that the list is empty, and what to do. */
function NoRuns({ choice, more, clear }: { choice: Choice; more: boolean; clear: () => void }): JSX.Element {
  if (more) {
    return (
      <Empty title="No match among the latest runs">
        <p>The server has looked at a part of all runs. Older ones may match.</p>
      </Empty>
    );
  }
  if (!isEmpty(choice)) {
    return (
      <Empty title="No run matches">
        <button type="button" onClick={clear}>
          Clear the filter
        </button>
      </Empty>
    );
  }
  const body = JSON.stringify({ workflowId: "cart-1", type: "cart", input: { owner: "ada" } });
  return (
    <Empty title="There are no runs yet">
      <p>Start one, for example of the type cart:</p>
      <pre>{`curl ${new URL("v1/workflows", document.baseURI).href.replace(/#.*/, "")} -d ${quote(body)}`}</pre>
    </Empty>
  );
}
