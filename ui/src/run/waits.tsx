// Where the code of a run waits, and what it waits for.
import type { JSX } from "preact";
import type { Coroutine, Description, WaitsFor } from "../api/types.js";
import { waits } from "../api/workflows.js";
import { StatusBadge } from "../components/badge.js";
import { failureText, FailureView } from "../components/failure.js";
import { Icon, type IconName } from "../components/icon.js";
import { Trouble } from "../components/notice.js";
import { Ago } from "../components/time.js";
import { millis, plural } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { now } from "../lib/now.js";
import { runHref } from "../lib/route.js";

const icons: Partial<Record<WaitsFor["kind"], IconName>> = {
  activity: "activity",
  localActivity: "record",
  timer: "clock",
  child: "branch",
  childStart: "branch",
  external: "external",
  signal: "signal",
  updateHandlers: "update",
  condition: "hourglass",
};

/** How often the code is asked again if the run has no new event, in milliseconds: an ask replays the run. */
const askEvery = 15_000;

/** Shows where the code waits. It is asked again with each description that has other events. */
export function WaitsView({ d, eventHref }: { d: Description; eventHref: (id: number) => string }): JSX.Element | null {
  const asked = useLive(`waits ${d.workflowId} ${d.runId} ${d.historyLength}`, async (abort) => ({ value: await waits(d.workflowId, d.runId, abort), again: askEvery }));
  if (asked.error !== undefined) return <Trouble error={asked.error} onRetry={asked.refresh} />;
  const found = asked.value;
  if (!found) return asked.loading ? <p class="dim">The code is asked…</p> : null;
  const awaited = new Set(found.coroutines.flatMap((c) => c.waitsFor.map((w) => (w.kind === "signal" ? w.name : undefined))));
  return (
    <div class="waits">
      {found.stopped && (
        <div class="notice warn">
          <Icon name="alert" />
          <div>
            <strong>The code could not be replayed to the end</strong>
            <FailureView failure={found.stopped} />
          </div>
        </div>
      )}
      {found.beforeTask && !d.stuckTask && <p class="does">A task follows. These are the places before it.</p>}
      {d.stuckTask && !d.stuckTask.speculative && (
        <p class="does">
          The code waits nowhere: its task fails{d.stuckTask.place ? ` at ${d.stuckTask.place}` : ""}. These are the places before that task, which begins after <a href={eventHref(found.atEventId)}>#{found.atEventId}</a>.
        </p>
      )}
      {found.coroutines.map((c, i) => (
        <CoroutineView key={i} c={c} d={d} eventHref={eventHref} />
      ))}
      {found.coroutines.length === 0 && !found.stopped && <p class="dim">No code waits: it has not begun, or a task follows.</p>}
      <Names icon="update" does="handles" one="update" many="updates" names={found.updateHandlers} />
      <Names icon="search" does="answers" one="query" many="queries" names={found.queryHandlers} />
      <Names icon="signal" does="has received" one="signal" many="signals" names={found.signals?.filter((s) => !awaited.has(s))} />
      {found.more && <p class="dim">and {plural(found.more, "further coroutine")}</p>}
    </div>
  );
}

/** Lists names that the code handles; nothing if there are none. */
function Names({ icon, does, one, many, names }: { icon: IconName; does: string; one: string; many: string; names: string[] | undefined }): JSX.Element | null {
  if (!names?.length) return null;
  return (
    <p>
      <Icon name={icon} size={13} />{" "}
      <span class="dim">
        {does} {names.length === 1 ? one : many}
      </span>{" "}
      <strong>{names.join(", ")}</strong>
    </p>
  );
}

function CoroutineView({ c, d, eventHref }: { c: Coroutine; d: Description; eventHref: (id: number) => string }): JSX.Element {
  const [inner, ...outer] = c.at;
  return (
    <section class="coroutine">
      <h3>
        {c.name}
        {c.count > 1 && <span class="dim"> ×{c.count}</span>}
        {c.updateId && <span class="dim"> {c.updateId}</span>}
      </h3>
      {inner && (
        <p class="place" title={[inner, ...outer].map((f) => `${f.place} ${f.function}`).join("\n")}>
          <Icon name="code" size={13} /> <code>{inner.place}</code> <span class="dim">{c.call ? `in ${c.call}` : inner.function}</span>
        </p>
      )}
      <ul class="plain">
        {c.waitsFor.map((w, i) => (
          <li key={i}>
            <Icon name={icons[w.kind] ?? "hourglass"} size={13} />
            <span class="grow">
              <Wait w={{ ...w, ...latest(w, d) }} d={d} eventHref={eventHref} />
            </span>
          </li>
        ))}
      </ul>
      {c.more && <p class="dim">and {c.more} more</p>}
    </section>
  );
}

/** Returns what the description, which is read more often, says of an activity that code waits for. */
function latest(w: WaitsFor, d: Description): Partial<WaitsFor> {
  const a = w.kind === "activity" ? d.pendingActivities.find((p) => p.eventId === w.eventId) : undefined;
  return a ? { attempt: a.attempt, nextAttemptAt: a.nextAttemptAt, lastFailure: a.lastFailure } : {};
}

/** Says one thing that code waits for. */
function Wait({ w, d, eventHref }: { w: WaitsFor; d: Description; eventHref: (id: number) => string }): JSX.Element {
  const event = w.eventId ? (
    <a class="dim" href={eventHref(w.eventId)}>
      #{w.eventId}
    </a>
  ) : null;
  switch (w.kind) {
    case "activity":
    case "localActivity":
      return (
        <>
          {w.kind === "activity" ? "activity" : "local activity"} <strong>{w.type}</strong> {event}
          {w.attempt && w.attempt > 1 && <span class="dim"> attempt {w.attempt}</span>}
          {(w.nextAttemptAt ?? w.fireAt) && (
            <span class="dim">
              {" "}
              · next <Ago at={w.nextAttemptAt ?? w.fireAt ?? ""} />
            </span>
          )}
          {w.lastFailure && <p class="reason">{failureText(w.lastFailure)}</p>}
          {w.held && <p class="reason">{w.held}</p>}
        </>
      );
    case "timer":
      return (
        <>
          timer {event}
          {w.fireAt && (
            <span class="dim">
              {" "}
              · {millis(w.fireAt) < now.value ? "was due" : "fires"} <Ago at={w.fireAt} />
            </span>
          )}
        </>
      );
    case "signal":
      return (
        <>
          {w.name ? <>signal <strong>{w.name}</strong></> : "signals of all names"}
          {w.unread ? <span class="dim"> · {w.unread} unread</span> : null}
        </>
      );
    case "child":
    case "childStart":
      return (
        <>
          {w.kind === "child" ? "child" : "start of the child"} {w.workflowId ? <a href={runHref(w.workflowId, d.pendingChildren.find((x) => x.eventId === w.eventId)?.runId)}>{w.workflowId}</a> : w.type} {event}
          {w.status && <StatusBadge status={w.status} />}
        </>
      );
    case "external":
      return (
        <>
          delivery to {w.workflowId ? <a href={runHref(w.workflowId)}>{w.workflowId}</a> : "another workflow"} {event}
        </>
      );
    case "updateHandlers":
      return <>update handlers{w.updates?.length ? `: ${w.updates.map((u) => u.name).join(", ")}` : ""}</>;
    case "condition":
      return <>a condition of the code</>;
    case "nextTask":
      return <>the next task, at once</>;
    default:
      return <>{w.kind}</>;
  }
}
