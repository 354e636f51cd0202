// What can be clicked to filter the list, with how many runs there are of each.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Counts, countRuns, type GroupBy } from "../api/counts.js";
import { allStatuses, StateBadge, StatusBadge } from "../components/badge.js";
import { Icon } from "../components/icon.js";
import { type Choice, facts, filterOf, isEmpty, periods, queryOf, toggled } from "../lib/filter.js";
import { count } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { useMedia } from "../lib/media.js";

/** How often the numbers are counted anew, in milliseconds: a count reads many rows. */
const countEvery = 60_000;

/** What the groups show: the counts by status, by type, and of each fact. */
interface Numbers {
  statuses: Counts | undefined;
  types: Counts | undefined;
  facts: Record<string, Counts>;
}

/** Counts in one group as far as the server does at once. */
function counting(filter: string, by: GroupBy, abort: AbortSignal): Promise<Counts | undefined> {
  return countRuns(filter, by, undefined, abort);
}

async function countAll(choice: Choice, at: number, abort: AbortSignal): Promise<Numbers> {
  const [statuses, types] = await Promise.all([
    counting(filterOf(choice, at, "statuses"), "ExecutionStatus", abort),
    counting(filterOf(choice, at, "types"), "WorkflowType", abort),
  ]);
  const numbers: Numbers = { statuses, types, facts: {} };
  if (!statuses) return numbers;
  await Promise.all(
    facts.map(async (fact) => {
      try {
        const open = [filterOf({ ...choice, statuses: [] }, at, "facts"), "ExecutionStatus = 'running'", fact].filter(Boolean).join(" AND ");
        const counted = await counting(open, "ExecutionStatus", abort);
        if (counted) numbers.facts[fact] = counted;
      } catch {
        abort.throwIfAborted(); // otherwise the deployment does not record the fact
      }
    }),
  );
  return numbers;
}

/** The groups of what can be chosen. */
export function Facets({ choice, at, choose, seen }: { choice: Choice; at: number; choose: (c: Partial<Choice>) => void; seen: string[] }): JSX.Element {
  const numbers = useLive<Numbers>(`counts ${JSON.stringify(queryOf(choice))}`, async (abort) => ({ value: await countAll(choice, at, abort), again: countEvery })).value;
  const [allTypes, setAllTypes] = useState(false);
  const types = [...new Set([...choice.types, ...(numbers?.types ? byCount(numbers.types) : seen)])];
  const shownTypes = allTypes ? types : types.slice(0, 8);
  const knownFacts = facts.filter((f) => numbers?.facts[f] !== undefined || choice.facts.includes(f));
  const chosen = choice.statuses.length + choice.facts.length + choice.types.length + (choice.within ? 1 : 0);
  const wide = useMedia("(min-width: 900px)");
  const groups = (
      <div class="facet-groups">
        {!isEmpty(choice) && (
          <button type="button" class="small" onClick={() => choose({ text: "", statuses: [], facts: [], types: [], within: "" })}>
            <Icon name="cross" size={12} /> Clear all
          </button>
        )}
        {knownFacts.length > 0 && (
          <Group title="Needs attention">
            {knownFacts.map((f) => (
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
