// What the runs of each type have cost over a period.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { readCosts, type Spending } from "../api/costs.js";
import type { CostSum } from "../api/types.js";
import { periods } from "../lib/filter.js";
import { count, dollars, plural } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { href } from "../lib/route.js";
import { basis, range } from "../run/cost.js";
import { Skeleton, Trouble } from "./notice.js";

/** How often the sums are read, in milliseconds: they read many rows. */
const every = 5 * 60_000;

/** A card with what runs have cost. It shows nothing if the server cannot say it. */
export function CostsCard(): JSX.Element | null {
  const [period, setPeriod] = useState("7d");
  const data = useLive(`costs ${period}`, async (abort) => ({ value: (await readCosts(new Date(Date.now() - (periods[period]?.ms ?? 0)), abort)) ?? null, again: every }));
  if (data.value === null) return null;
  return (
    <section class="card costs" aria-labelledby="costs-title">
      <header>
        <h2 id="costs-title">Costs</h2>
        <select aria-label="Runs that started in" value={period} onChange={(e) => setPeriod(e.currentTarget.value)}>
          {Object.entries(periods).map(([name, p]) => (
            <option key={name} value={name}>
              {p.label}
            </option>
          ))}
        </select>
      </header>
      <div class="body">
        {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
        {data.loading && <Skeleton lines={3} />}
        {data.value && <Sums spending={data.value} />}
      </div>
    </section>
  );
}

function Sums({ spending }: { spending: Spending }): JSX.Element {
  const { all, types, more } = spending;
  const rows = [...types].sort(([a, x], [b, y]) => y.cost.dollars - x.cost.dollars || a.localeCompare(b));
  return (
    <>
      <p class="sum">
        {more && "≥ "}
        {dollars(all.cost.dollars)}
      </p>
      {rows.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              {["Type", "Closed runs", "Writes", "Messages", "Reads", "Dollars", "A run"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([type, sum]) => (
              <tr key={type}>
                <td class="primary">
                  <a href={href(["runs"], { type: encodeURIComponent(type) })}>{type}</a>
                </td>
                <Figure label="Closed runs" text={count(sum.runs)} />
                <Figure label="Writes" text={count(sum.cost.writes)} />
                <Figure label="Messages" text={count(sum.cost.messages)} />
                <Figure label="Reads" text={range(sum.cost.reads)} />
                <Figure label="Dollars" text={dollars(sum.cost.dollars)} />
                <Figure label="A run" text={sum.runs > 0 ? dollars(sum.cost.dollars / sum.runs) : "–"} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="hint">
        {leftOut(all, more)} {basis(all.cost)}
      </p>
    </>
  );
}

function Figure({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    <td class="num" data-label={label}>
      {text}
    </td>
  );
}

/** Says which runs are in a sum, and which are not. */
function leftOut(all: CostSum, more: boolean): string {
  const out = [
    all.open > 0 && `${plural(all.open, "open run")}`,
    (all.unknown ?? 0) > 0 && `${plural(all.unknown ?? 0, "run")} that an earlier version of Weft has closed`,
    more && "all that started before these",
  ].filter(Boolean);
  return `${plural(all.runs, "closed run")}.${out.length > 0 ? ` Left out: ${out.join(", ")}.` : ""}`;
}
