// The schedules, and the page of one.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BackfillForm, DeleteScheduleForm, overlaps, PauseForm, ScheduleForm, TriggerForm } from "../actions/schedule.js";
import { describeSchedule, listSchedules, type Schedule, type ScheduledRun, type ScheduleDescription, type ScheduleSummary } from "../api/schedules.js";
import type { Status } from "../api/types.js";
import { Badge, StatusBadge } from "../components/badge.js";
import { failureText } from "../components/failure.js";
import { Icon } from "../components/icon.js";
import { Menu } from "../components/menu.js";
import { Empty, Skeleton, Trouble } from "../components/notice.js";
import { Fact, PageHead } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { Payload } from "../components/payload.js";
import { Ago, Moment } from "../components/time.js";
import { count, millis, shortDuration, stamp } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { href, type Params, place, runHref, setQuery } from "../lib/route.js";
import { useTitle } from "../lib/title.js";
import { useVisible } from "../lib/visible.js";

/** How often the list and a schedule in it are read, and the page of one, in milliseconds. */
const listEvery = 15_000;
const describeEvery = 4000;

/** Returns when a schedule is due, in one line. A cron expression has a zone: UTC if none is given. */
function specText({ spec }: Schedule): string {
  const all = [...(spec.cron ?? []), ...(spec.intervals ?? []).map((i) => `every ${shortDuration(i.every)}${i.offset ? ` + ${shortDuration(i.offset)}` : ""}`)];
  const zone = spec.timeZone ?? (spec.cron?.length ? "UTC" : undefined);
  return `${all.join(" · ")}${zone ? ` (${zone})` : ""}`;
}

/** The list of schedules. */
export function SchedulesPage(): JSX.Element {
  const pageToken = place.value.query.get("page") ?? undefined;
  const [form, setForm] = useState(false);
  const data = useLive(`schedules ${pageToken ?? ""}`, async (abort) => ({ value: await listSchedules(pageToken, abort), again: listEvery }));
  const all = data.value?.schedules;
  useKeys("Schedules", [{ keys: "c", does: "Create a schedule", run: () => setForm(true) }]);
  useTitle("Schedules");
  return (
    <section>
      <PageHead title="Schedules">
        <button type="button" class="primary" onClick={() => setForm(true)}>
          <Icon name="plus" size={14} /> Create
        </button>
      </PageHead>
      {form && (
        <ScheduleForm
          onClose={() => {
            setForm(false);
            data.refresh();
          }}
        />
      )}
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      {data.loading && <Skeleton lines={5} />}
      {all && all.length === 0 && !data.value?.nextPageToken && (
        <Empty title="There are no schedules yet">
          <p>A schedule starts runs of a workflow at certain moments.</p>
        </Empty>
      )}
      {all && all.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Schedule</th>
              <th scope="col">State</th>
              <th scope="col">Starts</th>
              <th scope="col">When</th>
              <th scope="col">Next</th>
              <th scope="col">Last run</th>
            </tr>
          </thead>
          <tbody>
            {all.map((s) => (
              <ScheduleRow key={s.scheduleId} summary={s} />
            ))}
          </tbody>
        </table>
      )}
      {data.value && <Pager token={pageToken} next={data.value.nextPageToken} onNext={() => setQuery({ page: data.value?.nextPageToken })} />}
    </section>
  );
}

/**
 * A row, which is described by itself while it can be seen: the list of the API has only the ids,
 * and a description is a read.
 */
function ScheduleRow({ summary }: { summary: ScheduleSummary }): JSX.Element {
  const id = summary.scheduleId;
  const row = useRef<HTMLTableRowElement>(null);
  const visible = useVisible(row);
  const data = useLive<ScheduleDescription | undefined>(`schedule ${id}`, async (abort, before) =>
    visible ? { value: await describeSchedule(id, abort), again: listEvery } : { value: before, again: undefined },
  );
  useEffect(() => {
    if (visible) data.refresh();
  }, [visible]);
  const d = data.value;
  const last = d?.recent.at(-1);
  return (
    <tr ref={row}>
      <td class="primary">
        <a class="row-link" href={href(["schedules", id])}>
          {id}
        </a>
      </td>
      <td>{d ? <StateOf d={d} /> : data.error !== undefined ? "not readable" : ""}</td>
      <td>{d?.schedule.action.type}</td>
      <td class="mono">{d && specText(d.schedule)}</td>
      <td class="num">{d?.nextAt[0] && <Ago at={d.nextAt[0]} />}</td>
      <td>{last && <RunLink run={last} />}</td>
    </tr>
  );
}

/** Shows whether a schedule starts runs. */
function StateOf({ d }: { d: ScheduleDescription }): JSX.Element {
  if (d.schedule.paused) {
    return (
      <Badge tone="warn" icon="pause">
        Paused
      </Badge>
    );
  }
  if (d.nextAt.length === 0) {
    return (
      <Badge tone="quiet" icon="stop">
        Ended
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="clock">
      Active
    </Badge>
  );
}

const statuses = new Set<string>(["running", "completed", "failed", "canceled", "terminated", "timedOut", "continuedAsNew"] satisfies Status[]);

/** Shows the status of a scheduled run, as a link to it. */
function RunLink({ run }: { run: ScheduledRun }): JSX.Element {
  const badge = run.status && statuses.has(run.status) ? <StatusBadge status={run.status as Status} /> : <span class="dim">{run.status ?? "buffered"}</span>;
  return run.workflowId ? (
    <a href={runHref(run.workflowId)} aria-label={`${run.workflowId}, ${run.status ?? "buffered"}`}>
      {badge}
    </a>
  ) : (
    badge
  );
}

type Form = "pause" | "trigger" | "backfill" | "change" | "delete";

/** The page of a schedule. */
export function SchedulePage({ params }: { params: Params }): JSX.Element {
  const id = params.schedule ?? "";
  const [form, setForm] = useState<Form>();
  const data = useLive(`schedule ${id}`, async (abort) => ({ value: await describeSchedule(id, abort), again: describeEvery }));
  useTitle(id);
  const d = data.value;
  if (!d) return data.error !== undefined ? <Trouble error={data.error} onRetry={data.refresh} /> : <Skeleton lines={6} />;
  const close = (): void => {
    setForm(undefined);
    data.refresh();
  };
  const paused = d.schedule.paused ?? false;
  const { spec, action, note } = d.schedule;
  return (
    <article>
      <header class="run-head">
        <nav aria-label="Breadcrumb" class="crumbs">
          <a href={href(["schedules"])}>Schedules</a>
        </nav>
        <div class="run-title">
          <h1>{id}</h1>
          <StateOf d={d} />
          <span class="grow" />
          <div class="actions">
            <button type="button" onClick={() => setForm("trigger")}>
              <Icon name="play" size={14} /> Start a run
            </button>
            <button type="button" onClick={() => setForm("pause")}>
              <Icon name={paused ? "play" : "pause"} size={14} /> {paused ? "Resume" : "Pause"}
            </button>
            <Menu
              label="Actions"
              items={[
                { label: "Backfill…", icon: "clock", run: () => setForm("backfill") },
                { label: "Change…", icon: "update", run: () => setForm("change") },
                { label: "Delete…", icon: "cross", danger: true, run: () => setForm("delete") },
              ]}
            />
          </div>
        </div>
        <dl class="facts">
          <Fact name="Starts" value={action.type} />
          <Fact name="When" value={specText(d.schedule)} />
          <Fact name="While a run is open" value={overlaps.find((o) => o.value === (d.schedule.overlapPolicy ?? "skip"))?.label} />
          <Fact name="Started" value={count(d.started)} />
          <Fact name="Skipped" value={count(d.skipped)} />
          <Fact name="Missed" value={count(d.missed)} />
          <Fact name="Not before" value={spec.startAt && stamp(millis(spec.startAt))} />
          <Fact name="Not after" value={spec.endAt && stamp(millis(spec.endAt))} />
          <Fact name="Jitter" value={spec.jitter && shortDuration(spec.jitter)} />
          <Fact name="Catch-up window" value={d.schedule.catchUpWindow && shortDuration(d.schedule.catchUpWindow)} />
          <Fact name="Pauses on failure" value={d.schedule.pauseOnFailure ? "yes" : undefined} />
          <Fact name="Note" value={note} />
        </dl>
      </header>
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      <div class="cards">
        <section class="card" aria-labelledby="next">
          <header>
            <h2 id="next">Next times</h2>
          </header>
          <div class="body">
            {d.nextAt.length === 0 ? (
              <p class="dim">{paused ? "None while it is paused." : "None: it has ended."}</p>
            ) : (
              <ol class="times">
                {d.nextAt.map((t) => (
                  <li key={t}>
                    <Moment at={t} />
                  </li>
                ))}
              </ol>
            )}
          </div>
        </section>
        <Runs title="Open and buffered runs" none="No run is open." runs={[...d.running, ...d.buffered]} />
        <Runs title="Last runs" none="It has started no run yet." runs={[...d.recent].reverse()} />
        <section class="card" aria-labelledby="input">
          <header>
            <h2 id="input">Input of each run</h2>
          </header>
          <div class="body">{action.input === undefined ? <p class="dim">None.</p> : <Payload value={action.input} label="The input" />}</div>
        </section>
      </div>
      {form === "pause" && <PauseForm id={id} pause={!paused} onClose={close} />}
      {form === "trigger" && <TriggerForm id={id} onClose={close} />}
      {form === "backfill" && <BackfillForm id={id} onClose={close} />}
      {form === "change" && <ScheduleForm id={id} schedule={d.schedule} onClose={close} />}
      {form === "delete" && <DeleteScheduleForm id={id} onClose={close} />}
    </article>
  );
}

/** Shows runs of a schedule. */
function Runs({ title, none, runs }: { title: string; none: string; runs: ScheduledRun[] }): JSX.Element {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
      </header>
      <div class="body">
        {runs.length === 0 && <p class="dim">{none}</p>}
        <ul class="times">
          {runs.map((r) => (
            <li key={`${r.at} ${r.workflowId ?? ""}`}>
              <RunLink run={r} /> <span class="num">{stamp(millis(r.at))}</span>{" "}
              {r.startedAt && millis(r.startedAt) - millis(r.at) > 1000 && (
                <span class="dim">
                  begun <Ago at={r.startedAt} />
                </span>
              )}
              {r.failure && <div class="dim">{failureText(r.failure)}</div>}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
