// The head of a run's page: what it is, how it is, and what it was given.
import type { ComponentChildren, JSX } from "preact";
import type { Description } from "../api/types.js";
import { StateBadge, StatusBadge } from "../components/badge.js";
import { Copy } from "../components/copy.js";
import { Moment, Span } from "../components/time.js";
import { bytes, plural } from "../lib/format.js";
import { href, runHref } from "../lib/route.js";
import { attributeText } from "../list/table.js";

/** Shows the id of a run, its status, and its facts. */
export function RunHead({ d, actions }: { d: Description; actions?: ComponentChildren }): JSX.Element {
  const state = stateOf(d);
  return (
    <header class="run-head">
      <nav aria-label="Breadcrumb" class="crumbs">
        <a href={href(["runs"])}>Runs</a>
        <span aria-hidden="true">/</span>
        <a href={href(["runs"], { type: encodeURIComponent(d.type) })}>{d.type}</a>
      </nav>
      <div class="run-title">
        <h1>{d.workflowId}</h1>
        <span class="badges">
          <StatusBadge status={d.status} />
          {state && <StateBadge state={state} />}
        </span>
        <span class="grow" />
        {actions}
      </div>
      <dl class="facts">
        <Fact name="Run">
          <span class="mono">{d.runId}</span> <Copy text={d.runId} what="the run id" />
        </Fact>
        <Fact name="Type">{d.type}</Fact>
        <Fact name="Started">
          <Moment at={d.startedAt} />
        </Fact>
        {d.closedAt && (
          <Fact name="Closed">
            <Moment at={d.closedAt} />
          </Fact>
        )}
        <Fact name={d.closedAt ? "Took" : "Open for"}>
          <Span from={d.startedAt} to={d.closedAt} />
        </Fact>
        <Fact name="History">
          {plural(d.historyLength, "event")} <span class="dim">{bytes(d.historySizeBytes)}</span>
        </Fact>
        {d.paused && (
          <Fact name="Paused">
            <Moment at={d.paused.since} /> {d.paused.reason}
          </Fact>
        )}
        {d.build && <Fact name="Pinned to build">{d.build}</Fact>}
        {d.parent && (
          <Fact name="Parent">
            <a href={runHref(d.parent.workflowId, d.parent.runId)}>{d.parent.workflowId}</a>
          </Fact>
        )}
        {Object.entries(d.searchAttributes ?? {}).map(([name, value]) => (
          <Fact key={name} name={name}>
            {attributeText(value)}
          </Fact>
        ))}
      </dl>
    </header>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Returns the state of an open run. An older server does not say it, but what it follows from. */
export function stateOf(d: Description & { state?: string }): string | undefined {
  if (d.status !== "running") return undefined;
  if (d.paused) return "paused";
  if (d.state) return d.state;
  if (d.stuckTask) return "stuck";
  if (d.pendingActivities.some((a) => a.attempt > 1 && a.lastFailure)) return "retrying";
  return undefined;
}
