// What a run has cost so far, by its description. An older server does not say it.
import type { JSX } from "preact";
import type { Cost } from "../api/types.js";
import { count, dollars } from "../lib/format.js";

/** What the members of a cost are called. */
const names: Record<string, string> = {
  writeUnits: "write units",
  reads: "reads",
  readUnits: "read units",
  invocations: "invocations",
  dollars: "dollars",
};

/** Returns a range of numbers as text. */
export function range({ least, most }: { least: number; most: number }): string {
  return least === most ? count(most) : `${count(least)} to ${count(most)}`;
}

/** Shows the cost of a run. */
export function CostView({ cost }: { cost: Cost }): JSX.Element {
  const rows: [string, string][] = [
    ["Writes", count(cost.writes)],
    ["Write units", `${count(cost.writeUnits)}${cost.indexUnits ? ` + ${count(cost.indexUnits)} in the list` : ""}`],
    ["Reads", range(cost.reads)],
    ["Messages", count(cost.messages)],
    ["Queue requests", count(cost.queueRequests)],
    ["Invocations", count(cost.invocations)],
  ];
  return (
    <>
      <p class="sum">{dollars(cost.dollars)}</p>
      <dl class="small-facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="num">{value}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">{basis(cost)}</p>
    </>
  );
}

/** Says what a cost rests on: the list prices, and what is estimated. */
export function basis(cost: Cost): string {
  const estimated = (cost.estimated ?? []).map((name) => names[name] ?? name);
  return `On AWS, at list prices of ${cost.prices}, without storage.${estimated.length > 0 ? ` Estimated: ${estimated.join(", ")}.` : ""}`;
}
