// The queues with what they hold, and their dead letters.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { done } from "../actions/done.js";
import { type DeadLetter, type Queue, readQueues, redrive } from "../api/deployment.js";
import { Badge } from "../components/badge.js";
import { FormDialog } from "../components/dialog.js";
import { Icon } from "../components/icon.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { Ago } from "../components/time.js";
import { count, plural } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { runHref } from "../lib/route.js";
import { useTitle } from "../lib/title.js";

/** How often the queues are read, in milliseconds: on AWS two requests are billed for each queue. */
const every = 10_000;

/** The queues. */
export function QueuesPage(): JSX.Element {
  const data = useLive("queues", async (abort) => ({ value: await readQueues(abort), again: every }));
  const [asked, setAsked] = useState<Queue>();
  useTitle("Queues");
  const queues = data.value;
  const dead = queues?.filter((q) => (q.dead?.waiting ?? 0) + (q.dead?.inFlight ?? 0) + (q.dead?.delayed ?? 0) > 0) ?? [];
  return (
    <section>
      <PageHead title="Task queues" />
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      {data.loading && <Skeleton lines={4} />}
      {queues && (
        <>
          <table class="rows queues">
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col">Waiting</th>
                <th scope="col">In flight</th>
                <th scope="col">Delayed</th>
                <th scope="col">Dead letters</th>
                <th scope="col">Rate</th>
                <th scope="col">
                  <span class="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {queues.map((q) => (
                <tr key={q.name}>
                  <td class="primary">
                    <strong>{q.taskQueue ?? q.name}</strong> <span class="dim">{q.taskQueue ? q.name : ""}</span>
                    {q.problem && <p class="dim">{q.problem}</p>}
                  </td>
                  <Number name="Waiting" n={q.messages?.waiting} />
                  <Number name="In flight" n={q.messages?.inFlight} />
                  <Number name="Delayed" n={q.messages?.delayed} />
                  <td class="num" data-label="Dead letters">
                    {dead.includes(q) ? (
                      <Badge tone="bad" icon="alert">
                        {count(deadOf(q))}
                      </Badge>
                    ) : (
                      numberText(q.dead?.waiting)
                    )}
                  </td>
                  <td class="num" data-label="Rate">
                    {q.rate ? `${q.rate.perSecond}/s${q.rate.burst ? `, ${count(q.rate.burst)} at once` : ""}` : <span class="dim">not known</span>}
                  </td>
                  <td>
                    {dead.includes(q) && (
                      <button type="button" class="small" aria-label={`Redrive the dead letters of ${q.name}`} onClick={() => setAsked(q)}>
                        <Icon name="retry" size={14} /> Redrive…
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <h2 class="section-title">Dead letters</h2>
          {dead.length === 0 && <p class="dim">There are none. A message that was received too often is one; the dead function, or the local server, sends it again after five minutes.</p>}
          {dead.map((q) => (
            <DeadLetters key={q.name} queue={q} />
          ))}
        </>
      )}
      {asked && (
        <RedriveForm
          queue={asked}
          onClose={() => {
            setAsked(undefined);
            data.refresh();
          }}
        />
      )}
    </section>
  );
}

const numberText = (n: number | undefined): string => (n === undefined ? "unknown" : count(n));

/** Returns how many dead letters a queue has. */
function deadOf({ dead }: Queue): number {
  return (dead?.waiting ?? 0) + (dead?.inFlight ?? 0) + (dead?.delayed ?? 0);
}

function Number({ name, n }: { name: string; n: number | undefined }): JSX.Element {
  return (
    <td class={n ? "num" : "num dim"} data-label={name}>
      {numberText(n)}
    </td>
  );
}

/** Shows the dead letters of a queue. */
function DeadLetters({ queue }: { queue: Queue }): JSX.Element {
  const all = queue.deadLetters ?? [];
  return (
    <section class="card dead" aria-label={`Dead letters of ${queue.name}`}>
      <header>
        <h3>{queue.name}</h3>
        <span class="dim">{plural(deadOf(queue), "dead letter")}</span>
      </header>
      {all.length === 0 && <p class="body dim">This deployment does not show them: SQS shows only messages that are received.</p>}
      <ul>
        {all.map((l, i) => (
          <li key={i}>
            <Letter letter={l} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Letter({ letter: l }: { letter: DeadLetter }): JSX.Element {
  return (
    <>
      <a href={l.eventId ? runHref(l.workflowId, l.runId, "events", String(l.eventId)) : runHref(l.workflowId, l.runId)}>{l.workflowId}</a> <span>{l.kind}</span>{" "}
      <span class="dim">
        attempt {count(l.attempt)} · first sent <Ago at={l.firstSent} />
      </span>
    </>
  );
}

/** Moves dead letters back to their queue. */
function RedriveForm({ queue, onClose }: { queue: Queue; onClose: () => void }): JSX.Element {
  return (
    <FormDialog
      title={`Redrive ${queue.name}?`}
      submitLabel="Move them back"
      onClose={onClose}
      submit={async () => {
        const answer = await redrive(queue.name);
        done(answer.value.started ? "The dead letters move back" : "They are being moved already", answer);
        onClose();
      }}
    >
      <p class="does">
        The {plural(deadOf(queue), "dead letter")} of <code>{queue.name}</code> are delivered again. Each takes effect once, as after any other delivery. If what made them fail is not fixed, they come back.
      </p>
    </FormDialog>
  );
}
