// What is pending in a run by its description: activities, timers, children, updates, signals.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ActivityActions } from "../actions/activity.js";
import { SignalForm } from "../actions/signal.js";
import type { Description, HistoryEvent } from "../api/types.js";
import { StateBadge, StatusBadge } from "../components/badge.js";
import { failureText, FailureView } from "../components/failure.js";
import { Icon, type IconName } from "../components/icon.js";
import { jsonText, shortJson } from "../components/payload.js";
import { Ago, Moment } from "../components/time.js";
import { millis, plural } from "../lib/format.js";
import { now } from "../lib/now.js";
import { runHref } from "../lib/route.js";

/** Says that a run is stuck: since when, how often, and why. */
export function Stuck({ d }: { d: Description }): JSX.Element | null {
  const s = d.stuckTask;
  if (!s) return null;
  return (
    <div class="notice bad">
      <Icon name="alert" />
      <div class="grow">
        <strong>
          {s.speculative ? "The run refuses updates" : "The run is stuck"}: its code fails{s.place ? ` at ${s.place}` : ""}
        </strong>
        <p class="dim">
          {s.speculative ? "The first was refused" : `${plural(s.failures ?? s.attempt, "attempt")} failed, the first`} <Ago at={s.since ?? d.startedAt} />
          {s.nextAttemptAt && (
            <>
              {" "}
              · next attempt <Ago at={s.nextAttemptAt} />
            </>
          )}
          {s.build && ` · build ${s.build}`}
          {s.updateId && ` · in the handler of update ${s.updateId}`}
        </p>
        <FailureView failure={s.firstFailure ?? s.failure} />
        {s.firstFailure && failureText(s.firstFailure) !== failureText(s.failure) && (
          <details>
            <summary>The latest failure is another one</summary>
            <FailureView failure={s.failure} />
          </details>
        )}
      </div>
    </div>
  );
}

const mostShown = 20;

interface PendingProps {
  d: Description;
  events: readonly HistoryEvent[];
  eventHref: (id: number) => string;
  changed: () => void;
}

/** Lists what is pending. Large numbers are cut: the timeline has all. changed is called after an action. */
export function Pending({ d, events, eventHref, changed }: PendingProps): JSX.Element | null {
  const n = d.pendingActivities.length + d.pendingTimers.length + d.pendingChildren.length + d.updatesInFlight.length + (d.unreadSignals?.length ?? 0);
  if (n === 0) return null;
  const failing = [...d.pendingActivities].sort((a, b) => b.attempt - a.attempt);
  return (
    <ul class="plain pending">
      {d.updatesInFlight.slice(0, mostShown).map((u) => (
        <Line key={u.updateId} icon="update">
          update <a href={eventHref(u.acceptedEventId)}>{u.name}</a> <span class="dim">{u.updateId} · in flight</span>
        </Line>
      ))}
      {failing.slice(0, mostShown).map((a) => (
        <Line key={a.eventId} icon={a.lastFailure ? "retry" : "activity"}>
          activity <a href={eventHref(a.eventId)}>{a.type}</a>{" "}
          <span class="dim">
            attempt {a.attempt}
            {a.nextAttemptAt && (
              <>
                {" "}
                · next <Ago at={a.nextAttemptAt} />
              </>
            )}
            {a.taskQueue && ` · queue ${a.taskQueue}`}
          </span>
          {a.lastFailure && <p class="reason">{failureText(a.lastFailure)}</p>}
          {a.held && <p class="reason">{a.held}</p>}
          {d.status === "running" && <ActivityActions d={d} run={d} activity={a} changed={changed} />}
        </Line>
      ))}
      {d.pendingTimers.slice(0, mostShown).map((t) => (
        <Line key={t.eventId} icon="clock">
          <a href={eventHref(t.eventId)}>timer</a>{" "}
          <span class="dim">
            {millis(t.fireAt) < now.value ? "was due" : "fires"} <Moment at={t.fireAt} />
          </span>
        </Line>
      ))}
      {d.pendingChildren.slice(0, mostShown).map((c) => (
        <Line key={c.eventId} icon="branch">
          child <a href={runHref(c.workflowId, c.runId)}>{c.workflowId}</a> <span class="dim">{c.type}</span> <ChildBadge child={c} />
        </Line>
      ))}
      {(d.unreadSignals ?? []).map((s) => (
        <Line key={s.name} icon="signal">
          signal <strong>{s.name}</strong> <span class="dim">{s.setAside ? `${s.count} unread, ${s.setAside} set aside` : `${s.count} unread`}</span>
          {s.setAsideEvents && <SetAside d={d} name={s.name} ids={s.setAsideEvents} events={events} eventHref={eventHref} changed={changed} />}
        </Line>
      ))}
      {n > mostShown * 2 && <li class="dim">{plural(n, "thing")} in all</li>}
    </ul>
  );
}

/** Lists the signals of a name that were set aside, with their values as far as they are loaded, and sends a corrected one. */
function SetAside({ d, name, ids, events, eventHref, changed }: PendingProps & { name: string; ids: readonly number[] }): JSX.Element {
  const [sending, setSending] = useState(false);
  const values = new Map(events.flatMap((e) => (e.type === "WorkflowExecutionSignaled" && ids.includes(e.id) ? [[e.id, e.attributes.input] as const] : [])));
  const latest = values.get(ids.at(-1) ?? 0);
  return (
    <div class="set-aside">
      <p class="reason">The code cannot read these values:</p>
      <ul class="plain">
        {ids.map((id) => (
          <li key={id}>
            <a href={eventHref(id)}>event {id}</a> <code>{shortJson(values.get(id))}</code>
          </li>
        ))}
      </ul>
      {d.status === "running" && (
        <button type="button" class="small" onClick={() => setSending(true)}>
          Send a corrected value
        </button>
      )}
      {sending && (
        <SignalForm
          run={d}
          d={d}
          events={events}
          name={name}
          value={latest === undefined ? "" : jsonText(latest)}
          onClose={() => {
            setSending(false);
            changed();
          }}
        />
      )}
    </div>
  );
}

/** Shows how a pending child is, if the description says it. */
export function ChildBadge({ child: c }: { child: Description["pendingChildren"][number] }): JSX.Element | null {
  if (c.state) return <StateBadge state={c.state} />;
  return c.status ? <StatusBadge status={c.status} /> : null;
}

function Line({ icon, children }: { icon: IconName; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <Icon name={icon} size={13} />
      <span class="grow">{children}</span>
    </li>
  );
}
