// The batches, and the page of one.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BatchForm, Groups, kinds, RateForm, StopBatchForm } from "../actions/batch.js";
import { type Batch, type BatchAction, type BatchSummary, describeBatch, isOpen, listBatches } from "../api/batches.js";
import { Badge, type Tone } from "../components/badge.js";
import { Icon, type IconName } from "../components/icon.js";
import { Empty, Skeleton, Trouble } from "../components/notice.js";
import { Fact, PageHead } from "../components/page.js";
import { Pager } from "../components/pager.js";
import { Ago } from "../components/time.js";
import { count, millis, plural, stamp, words } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { useLive } from "../lib/live.js";
import { href, type Params, place, runHref, setQuery } from "../lib/route.js";
import { useTitle } from "../lib/title.js";
import { useVisible } from "../lib/visible.js";

/** How often the list is read, and a batch that runs, in milliseconds. */
const listEvery = 10_000;
const describeEvery = 1000;

/** The filter with which the form begins. */
const open = "ExecutionStatus = 'Running'";

/** The list of batches. */
export function BatchesPage(): JSX.Element {
  const pageToken = place.value.query.get("page") ?? undefined;
  const [form, setForm] = useState(false);
  const data = useLive(`batches ${pageToken ?? ""}`, async (abort) => ({ value: await listBatches(pageToken, abort), again: listEvery }));
  const all = data.value?.batches;
  useKeys("Batches", [{ keys: "c", does: "Start a batch", run: () => setForm(true) }]);
  useTitle("Batches");
  return (
    <section>
      <PageHead title="Batches">
        <button type="button" class="primary" onClick={() => setForm(true)}>
          <Icon name="plus" size={14} /> Start
        </button>
      </PageHead>
      {form && <BatchForm filter={open} onClose={() => setForm(false)} />}
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      {data.loading && <Skeleton lines={5} />}
      {all && all.length === 0 && !data.value?.nextPageToken && (
        <Empty title="There are no batches yet">
          <p>A batch does the same with all runs that a filter selects.</p>
        </Empty>
      )}
      {all && all.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Batch</th>
              <th scope="col">State</th>
              <th scope="col">What</th>
              <th scope="col">Filter</th>
              <th scope="col">Runs</th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {all.map((b) => (
              <BatchRow key={b.batchId} summary={b} />
            ))}
          </tbody>
        </table>
      )}
      {data.value && <Pager token={pageToken} next={data.value.nextPageToken} onNext={() => setQuery({ page: data.value?.nextPageToken })} />}
    </section>
  );
}

/**
 * A row. The list of the API knows what a batch does, and not how far it is: a row asks for that while
 * it can be seen, and only once if the batch has ended.
 */
function BatchRow({ summary: b }: { summary: BatchSummary }): JSX.Element {
  const row = useRef<HTMLTableRowElement>(null);
  const visible = useVisible(row);
  const data = useLive<Batch | undefined>(`batch ${b.batchId} ${b.state}`, async (abort, before) => {
    if (!visible) return { value: before, again: undefined };
    const value = await describeBatch(b.batchId, abort);
    return { value, again: isOpen(value) ? listEvery : undefined };
  });
  useEffect(() => {
    if (visible && (data.value === undefined || isOpen(data.value))) data.refresh();
  }, [visible]);
  return (
    <tr ref={row}>
      <td class="primary">
        <a class="row-link" href={href(["batches", b.batchId])}>
          {b.batchId}
        </a>
      </td>
      <td>
        <StateOfBatch state={b.state} notDone={(b.refused ?? 0) + (b.failed ?? 0)} />
      </td>
      <td>{b.dryRun ? "Dry run" : kindText(b.kind)}</td>
      <td class="mono">{b.filter}</td>
      <td class="num">{data.value && runsText(data.value)}</td>
      <td class="num">
        <Ago at={b.startedAt} />
      </td>
    </tr>
  );
}

/** Returns how many runs a batch has acted on, of how many that it has found so far. */
function runsText({ counts: c, dryRun }: Batch): string {
  return dryRun ? `${count(c.matched)} counted` : `${count(c.done + c.already)} of ${count(c.matched)}`;
}

/** Shows the state of a batch. One that has completed without some runs does not look like a success. */
function StateOfBatch({ state, notDone }: { state: Batch["state"]; notDone: number }): JSX.Element {
  if (notDone === 0 || state !== "completed") return <Badge {...looks[state]}>{words(state)}</Badge>;
  return <Badge tone="warn" icon="alert">{`Completed, ${count(notDone)} not done`}</Badge>;
}

function kindText(kind: string | undefined): string {
  return kinds.find((k) => k.value === kind)?.label ?? kind ?? "";
}

const looks: Record<Batch["state"], { tone: Tone; icon: IconName }> = {
  running: { tone: "running", icon: "play" },
  stopping: { tone: "warn", icon: "stop" },
  stopped: { tone: "warn", icon: "stop" },
  completed: { tone: "good", icon: "check" },
  failed: { tone: "bad", icon: "cross" },
  canceled: { tone: "quiet", icon: "slash" },
  terminated: { tone: "warn", icon: "stop" },
  timedOut: { tone: "warn", icon: "clock" },
};

/** Returns what a batch does with each run, in one line. */
function actionText(a: BatchAction): string {
  const more = [a.signalName, a.to && `to ${words(a.to).toLowerCase()}`, a.build && `to ${a.build}`, a.unpin && "to the newest build", a.exclude?.length && `without ${a.exclude.join(", ")}`];
  return [kindText(a.kind), ...more].filter(Boolean).join(" ");
}

/** The page of a batch. */
export function BatchPage({ params }: { params: Params }): JSX.Element {
  const id = params.batch ?? "";
  const [form, setForm] = useState<"stop" | "rate">();
  const data = useLive<Batch>(`batch ${id}`, async (abort) => {
    const value = await describeBatch(id, abort);
    return { value, again: isOpen(value) ? describeEvery : undefined };
  });
  useTitle(id);
  const b = data.value;
  if (!b) return data.error !== undefined ? <Trouble error={data.error} onRetry={data.refresh} /> : <Skeleton lines={6} />;
  const close = (): void => {
    setForm(undefined);
    data.refresh();
  };
  return (
    <article>
      <header class="run-head">
        <nav aria-label="Breadcrumb" class="crumbs">
          <a href={href(["batches"])}>Batches</a>
        </nav>
        <div class="run-title">
          <h1>{id}</h1>
          <StateOfBatch state={b.state} notDone={b.counts.refused + b.counts.failed} />
          <span class="grow" />
          {isOpen(b) && (
            <div class="actions">
              <button type="button" onClick={() => setForm("rate")}>
                <Icon name="clock" size={14} /> Rate
              </button>
              <button type="button" onClick={() => setForm("stop")} disabled={b.state === "stopping"}>
                <Icon name="stop" size={14} /> Stop
              </button>
            </div>
          )}
        </div>
        <dl class="facts">
          <Fact name="What" value={b.action ? actionText(b.action) : undefined} />
          <Fact name="Dry run" value={b.dryRun ? "yes: it counts, and does nothing" : undefined} />
          <Fact name="Runs" value={b.filter} />
          <Fact name="Reason" value={b.action?.reason} />
          <Fact name="Rate" value={b.rate ? `${b.rate} a second` : undefined} />
          <Fact name="At most" value={b.dryRun ? undefined : plural(b.mostRuns, "run")} />
          <Fact name="Started" value={stamp(millis(b.startedAt))} />
          <Fact name="Ended" value={b.endedAt && stamp(millis(b.endedAt))} />
          <Fact name="Stopped because" value={b.reason} />
        </dl>
      </header>
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      <div class="cards">
        <ProgressCard b={b} of={Number(place.value.query.get("of")) || 0} />
        {b.groups && (
          <section class="card" aria-labelledby="groups">
            <header>
              <h2 id="groups">Matched</h2>
            </header>
            <div class="body">
              <Groups groups={b.groups} total={b.counts.matched} />
            </div>
          </section>
        )}
        {b.problems && <Problems problems={b.problems} />}
        <section class="card" aria-labelledby="workflow">
          <header>
            <h2 id="workflow">Its workflow</h2>
          </header>
          <div class="body">
            <a href={runHref(`weft.batch:${id}`)}>weft.batch:{id}</a> <span class="dim">{plural(b.steps, "step")}</span>
          </div>
        </section>
      </div>
      {form === "stop" && <StopBatchForm id={id} onClose={close} />}
      {form === "rate" && <RateForm id={id} rate={b.rate ?? 0} onClose={close} />}
    </article>
  );
}

/** Shows how far a batch is. of is how many runs a dry run has counted; 0 if that is not known. */
function ProgressCard({ b, of }: { b: Batch; of: number }): JSX.Element {
  const c = b.counts;
  const settled = b.dryRun ? c.matched : c.done + c.already + c.refused + c.failed;
  const total = Math.max(c.matched, isOpen(b) && !b.listed ? of : 0);
  const rows: [string, number][] = [
    ["Matched", c.matched],
    ["Done", c.done],
    ["Already so", c.already],
    ["Refused", c.refused],
    ["Failed", c.failed],
  ];
  return (
    <section class="card" aria-labelledby="progress">
      <header>
        <h2 id="progress">Progress</h2>
      </header>
      <div class="body">
        <progress class="batch" max={Math.max(total, 1)} value={b.state === "completed" && total === 0 ? 1 : settled} aria-labelledby="progress" />
        <p class="does num">
          {count(settled)} of {isOpen(b) && !b.listed && total === c.matched ? "at least " : ""}
          {plural(total, "run")}
        </p>
        <dl class="facts">
          {rows.map(([name, n]) => (
            <Fact key={name} name={name} value={n > 0 || name === "Matched" ? count(n) : undefined} />
          ))}
        </dl>
      </div>
    </section>
  );
}

/** Shows the last runs that a batch could not act on. */
function Problems({ problems }: { problems: NonNullable<Batch["problems"]> }): JSX.Element {
  return (
    <section class="card" aria-labelledby="problems">
      <header>
        <h2 id="problems">The last that it could not act on</h2>
      </header>
      <div class="body">
        <ul class="refused">
          {[...problems].reverse().map((p) => (
            <li key={p.workflowId + p.runId}>
              <a href={runHref(p.workflowId, p.runId)}>{p.workflowId}</a> <span>{p.refused ? "refused" : "failed"}</span> <span class="dim">{p.reason}</span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
