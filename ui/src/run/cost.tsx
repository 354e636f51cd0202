// What a run has cost so far, by its description. An older server does not say it.
import type { JSX } from "preact";
import type { Description } from "../api/types.js";
import { count, dollars } from "../lib/format.js";

interface Spent {
  writes?: number;
  writeUnits?: number;
  reads?: { least: number; most: number };
  messages?: number;
  invocations?: number;
  dollars?: number;
  estimated?: string[];
  prices?: string;
}

/** Returns the cost of a run, if its description has it. */
export function costOf(d: Description): Spent | undefined {
  return (d as Description & { cost?: Spent }).cost;
}

/** Shows the cost of a run. */
export function CostView({ cost }: { cost: Spent }): JSX.Element {
  const rows: [string, string | undefined][] = [
    ["Writes", cost.writes === undefined ? undefined : count(cost.writes)],
    ["Write units", cost.writeUnits === undefined ? undefined : count(cost.writeUnits)],
    ["Reads", cost.reads && (cost.reads.least === cost.reads.most ? count(cost.reads.most) : `${count(cost.reads.least)} to ${count(cost.reads.most)}`)],
    ["Messages", cost.messages === undefined ? undefined : count(cost.messages)],
    ["Invocations", cost.invocations === undefined ? undefined : count(cost.invocations)],
  ];
  return (
    <>
      {cost.dollars !== undefined && <p class="sum">{dollars(cost.dollars)}</p>}
      <dl class="small-facts">
        {rows.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd class="num">{value}</dd>
              </div>
            ),
        )}
      </dl>
      <p class="hint">
        {cost.prices && `List prices ${cost.prices}. `}
        {cost.estimated && cost.estimated.length > 0 && `Estimated: ${cost.estimated.join(", ")}.`}
      </p>
    </>
  );
}
