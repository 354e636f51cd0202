// What can be clicked to filter the list, with how many runs there are of each.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Counts, countPages, type GroupBy, type Selection } from "../api/counts.js";
import { isLocal } from "../api/deployment.js";
import { has } from "../api/features.js";
import type { Status } from "../api/types.js";
import { allStatuses, reasonText, StateBadge, StatusBadge } from "../components/badge.js";
import { Icon } from "../components/icon.js";
import { allRuns, type Choice, facts, type Group as Part, isEmpty, periods, queryOf, readsActivities, shownFilterOf, toggled } from "../lib/filter.js";
import { count } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { useMedia } from "../lib/media.js";

/** How often the numbers are counted anew, in milliseconds for each page of the longest count: a page reads many rows. */
const countEvery = 60_000;

/**
 * The fact of which a count reads the activities of each open run. It is counted on a click. The local
 * server reads its own disk: there it is counted always, unless too many runs are open.
 */
const costly = "Retrying";
const mostOpen = 2000;

/** The statuses of runs that have closed for a reason. Reasons are counted only while one of them is chosen. */
const withReason: readonly Status[] = ["failed", "timedOut", "terminated"];

/** What the groups show: the counts by status, by type, and of each fact. */
interface Numbers {
  statuses: Counts | undefined;
  types: Counts | undefined;
  reasons: Counts | undefined;
  facts: Record<string, Counts>;
}

/** Counts in one group. Undefined: the server cannot count, or would read the activities of each open run. */
function counting(selection: Selection, by: GroupBy, abort: AbortSignal): Promise<Counts | undefined> {
  return readsActivities(selection.filter) ? Promise.resolve(undefined) : countPages(selection, by, abort);
}

/** Selects the runs of a choice without a group. */
const without = (choice: Choice, at: number, part: Part): Selection => ({ filter: shownFilterOf(choice, at, part), unknown: choice.unknown });

/** Reports whether the group of close reasons is shown. */
const showsReasons = (c: Choice): boolean => c.reasons.length > 0 || c.statuses.some((s) => (withReason as readonly string[]).includes(s));

/** Selects the open runs for which a fact holds; without one, all open runs. */
function ofFact(choice: Choice, at: number, fact?: string): Selection {
  const { filter, unknown } = without({ ...choice, statuses: [], reasons: [] }, at, "facts");
  return { filter: [filter, "ExecutionStatus = 'running'", fact].filter(Boolean).join(" AND "), unknown: unknown ?? false };
}

/** Counts the runs for which the costly fact holds, if that is cheap here. */
async function countCostly(choice: Choice, at: number, abort: AbortSignal): Promise<Counts | undefined> {
  if (!(await isLocal())) return undefined;
  const open = await counting(ofFact(choice, at), "ExecutionStatus", abort);
  return open && !open.more && open.count <= mostOpen ? countPages(ofFact(choice, at, costly), "ExecutionStatus", abort) : undefined;
}

async function countAll(choice: Choice, at: number, abort: AbortSignal): Promise<Numbers> {
  const [statuses, types, reasons] = await Promise.all([
    counting(without(choice, at, "statuses"), "ExecutionStatus", abort),
    counting(without(choice, at, "types"), "WorkflowType", abort),
    showsReasons(choice) ? counting(without(choice, at, "reasons"), "CloseReason", abort) : undefined,
  ]);
  const numbers: Numbers = { statuses, types, reasons, facts: {} };
  if (!has("counts")) return numbers;
  await Promise.all(
    facts.map(async (fact) => {
      try {
        const counted = await (fact === costly ? countCostly(choice, at, abort) : counting(ofFact(choice, at, fact), "ExecutionStatus", abort));
        if (counted) numbers.facts[fact] = counted;
      } catch {
        abort.throwIfAborted(); // otherwise the deployment does not record the fact
      }
    }),
  );
  return numbers;
}

/** Returns after how many milliseconds to count again: a count of ten pages is repeated every ten minutes. */
function againAfter(n: Numbers): number {
  return countEvery * Math.max(1, ...[n.statuses, n.types, n.reasons, ...Object.values(n.facts)].map((c) => c?.pages ?? 1));
}

/** The groups of what can be chosen. */
export function Facets({ choice, at, choose, seen }: { choice: Choice; at: number; choose: (c: Partial<Choice>) => void; seen: string[] }): JSX.Element {
  const numbers = useLive<Numbers>(`counts ${JSON.stringify(queryOf(choice))}`, async (abort) => {
    const value = await countAll(choice, at, abort);
    return { value, again: againAfter(value) };
  }).value;
  const [allTypes, setAllTypes] = useState(false);
  const types = [...new Set([...choice.types, ...(numbers?.types ? byCount(numbers.types) : seen)])];
  const shownTypes = allTypes ? types : types.slice(0, 8);
  const counted = Object.keys(numbers?.facts ?? {}).length > 0;
  const knownFacts = facts.filter((f) => numbers?.facts[f] !== undefined || choice.facts.includes(f) || (f === costly && counted));
  const reasons = [...new Set([...choice.reasons, ...(numbers?.reasons ? byCount(numbers.reasons).filter(Boolean) : [])])];
  const chosen = choice.statuses.length + choice.facts.length + choice.types.length + choice.reasons.length + (choice.within ? 1 : 0);
  const wide = useMedia("(min-width: 900px)");
  const groups = (
      <div class="facet-groups">
        {!isEmpty(choice) && (
          <button type="button" class="small" onClick={() => choose(allRuns)}>
            <Icon name="cross" size={12} /> Clear all
          </button>
        )}
        {knownFacts.length > 0 && (
          <Group title="Needs attention">
            {knownFacts.map((f) => f === costly && numbers?.facts[f] === undefined ? (
              <CostlyOption key={f} fact={f} choice={choice} at={at} onChange={() => choose({ facts: toggled(choice.facts, f) })} />
            ) : (
              <Option key={f} chosen={choice.facts.includes(f)} number={numbers?.facts[f]?.count} more={numbers?.facts[f]?.more} onChange={() => choose({ facts: toggled(choice.facts, f) })}>
                <StateBadge state={f.toLowerCase()} />
              </Option>
            ))}
          </Group>
        )}
        <Group title="Status">
          {allStatuses.map((s) => (
            <Option
              key={s}
              chosen={choice.statuses.includes(s)}
              number={numbers?.statuses ? (numbers.statuses.groups.get(s) ?? 0) : undefined}
              more={numbers?.statuses?.more}
              onChange={() => choose({ statuses: toggled(choice.statuses, s) })}
            >
              <StatusBadge status={s} />
            </Option>
          ))}
        </Group>
        {reasons.length > 0 && showsReasons(choice) && (
          <Group title="Close reason">
            {reasons.slice(0, 12).map((r) => (
              <Option key={r} chosen={choice.reasons.includes(r)} number={numbers?.reasons?.groups.get(r)} more={numbers?.reasons?.more} onChange={() => choose({ reasons: toggled(choice.reasons, r) })}>
                <span class="ellipsis">{reasonText(r)}</span>
              </Option>
            ))}
          </Group>
        )}
        {types.length > 0 && (
          <Group title="Type">
            {shownTypes.map((t) => (
              <Option key={t} chosen={choice.types.includes(t)} number={numbers?.types?.groups.get(t)} more={numbers?.types?.more} onChange={() => choose({ types: toggled(choice.types, t) })}>
                <span class="ellipsis">{t}</span>
              </Option>
            ))}
            {types.length > shownTypes.length && (
              <button type="button" class="link small" onClick={() => setAllTypes(true)}>
                {types.length - shownTypes.length} more
              </button>
            )}
          </Group>
        )}
        <Group title="Started">
          {Object.entries(periods).map(([name, p]) => (
            <Option key={name} chosen={choice.within === name} onChange={() => choose({ within: choice.within === name ? "" : name })}>
              <span>{p.label}</span>
            </Option>
          ))}
        </Group>
        <Group title="Also show">
          <Option chosen={choice.own} onChange={() => choose({ own: !choice.own })}>
            <span>Schedules, batches, notifications</span>
          </Option>
        </Group>
      </div>
  );
  if (wide) return <div class="facets">{groups}</div>;
  return (
    <details class="facets">
      <summary>
        <Icon name="filter" /> Filters
        {chosen > 0 && <span class="count">{chosen} chosen</span>}
      </summary>
      {groups}
    </details>
  );
}

/** Returns the values of a count, the most frequent first. */
function byCount(c: Counts): string[] {
  return [...c.groups].sort(([a, n], [b, m]) => m - n || a.localeCompare(b)).map(([value]) => value);
}

function Group({ title, children }: { title: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <fieldset class="facet">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

/** A fact that is counted when its button is pressed. The number is forgotten when the filter changes. */
function CostlyOption({ fact, choice, at, onChange }: { fact: string; choice: Choice; at: number; onChange: () => void }): JSX.Element {
  const [number, setNumber] = useState<Counts | "counting" | "failed">();
  const running = useRef<AbortController>(undefined);
  const selection = ofFact(choice, at, fact);
  const unchanged = JSON.stringify(queryOf({ ...choice, statuses: [], facts: [] }));
  useEffect(() => {
    setNumber(undefined);
    return () => running.current?.abort();
  }, [unchanged]);
  const ask = async (): Promise<void> => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setNumber("counting");
    try {
      const counted = await countPages(selection, "ExecutionStatus", abort.signal);
      if (!abort.signal.aborted) setNumber(counted ?? "failed");
    } catch {
      if (!abort.signal.aborted) setNumber("failed");
    }
  };
  return (
    <div class="option-counted">
      <Option chosen={choice.facts.includes(fact)} onChange={onChange}>
        <StateBadge state={fact.toLowerCase()} />
      </Option>
      <button type="button" class="link small count" disabled={number === "counting"} aria-label={`Count ${fact}`} title="Counts them now. That reads the activities of each open run." onClick={() => void ask()}>
        {number === undefined ? "count" : number === "counting" ? "counting…" : number === "failed" ? "not counted" : `${number.more ? "≥ " : ""}${count(number.count)}`}
      </button>
    </div>
  );
}

/** A value that can be chosen. The number says how many runs have it. */
function Option({
  chosen,
  number,
  more,
  onChange,
  children,
}: {
  chosen: boolean;
  number?: number | undefined;
  more?: boolean | undefined;
  onChange: () => void;
  children: preact.ComponentChildren;
}): JSX.Element {
  return (
    <label class={chosen ? "option chosen" : "option"}>
      <input type="checkbox" checked={chosen} onChange={onChange} />
      {children}
      {number !== undefined && (
        <span class="count" title={more ? "At least: not all runs were counted" : undefined}>
          {more ? "≥ " : ""}
          {count(number)}
        </span>
      )}
    </label>
  );
}
