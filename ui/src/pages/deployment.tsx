// The deployment: its versions, what it can do, and the types of its program.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { StartForm } from "../actions/start.js";
import { type Deployment, readDeployment, types as readTypes, type Types } from "../api/deployment.js";
import { Badge } from "../components/badge.js";
import { CostsCard } from "../components/costs.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { bytes, count, plural, shortDuration, words } from "../lib/format.js";
import { useLive } from "../lib/live.js";
import { href } from "../lib/route.js";
import { useTitle } from "../lib/title.js";

/** How often the deployment is read, in milliseconds: another version may answer then. */
const every = 60_000;

/** The deployment. */
export function DeploymentPage(): JSX.Element {
  const data = useLive("deployment", async (abort) => {
    const [deployment, types] = await Promise.all([readDeployment(abort), readTypes(abort)]);
    return { value: { deployment, types }, again: every };
  });
  const [start, setStart] = useState<string>();
  useTitle("Deployment");
  return (
    <section>
      <PageHead title="Deployment" />
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      {data.loading && <Skeleton lines={6} />}
      {data.value && (
        <>
          <About d={data.value.deployment} />
          {data.value.deployment.features["list"] && <CostsCard />}
          <div class="cards">
            {data.value.types && <Workflows types={data.value.types} onStart={setStart} />}
            {data.value.types && <Activities types={data.value.types} />}
          </div>
        </>
      )}
      {start !== undefined && <StartForm type={start} onClose={() => setStart(undefined)} />}
    </section>
  );
}

/** What each feature is for. */
const features: Record<string, string> = {
  list: "Lists of runs",
  queues: "Counts of queues",
  deadLetters: "Dead letters",
  redrive: "Redrive",
  versions: "Runs on older builds",
};

function About({ d }: { d: Deployment }): JSX.Element {
  const facts: [string, string | undefined][] = [
    ["Weft", d.version],
    ["Build", d.build],
    ["Namespace", d.namespace],
    ["Largest payload", bytes(d.limits.maxPayloadBytes)],
    ["Updates in flight", d.limits.updatesInFlight ? `${count(d.limits.updatesInFlight)} a run` : "no limit"],
    ["Closed runs are kept for", shortDuration(d.limits.retention)],
    ["Longest wait", d.limits.wait],
  ];
  return (
    <div class="run-head">
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      <p class="badges features">
        {Object.entries(d.features).map(([name, on]) => (
          <Badge key={name} tone={on ? "good" : "quiet"} icon={on ? "check" : "minus"}>
            {`${features[name] ?? words(name)}${on ? "" : ": not here"}`}
          </Badge>
        ))}
      </p>
    </div>
  );
}

function Workflows({ types, onStart }: { types: Types; onStart: (type: string) => void }): JSX.Element {
  return (
    <section class="card" aria-labelledby="workflow-types">
      <header>
        <h2 id="workflow-types">{plural(types.workflows.length, "workflow type")}</h2>
      </header>
      <ul class="types">
        {types.workflows.map((w) => (
          <li key={w.name}>
            <a href={href(["runs"], { type: encodeURIComponent(w.name) })}>{w.name}</a>
            {w.pinned && <span class="dim">pinned to the build that started it</span>}
            <span class="grow" />
            <button type="button" class="small" aria-label={`Start ${w.name}`} onClick={() => onStart(w.name)}>
              Start…
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Activities({ types }: { types: Types }): JSX.Element {
  return (
    <section class="card" aria-labelledby="activity-types">
      <header>
        <h2 id="activity-types">{plural(types.activities.length, "activity type")}</h2>
        {types.taskQueues.length > 0 && <a href={href(["queues"])}>{plural(types.taskQueues.length, "task queue")}</a>}
      </header>
      <ul class="types">
        {types.activities.map((a) => (
          <li key={a.name}>
            <span>{a.name}</span>
            <span class="grow" />
            <span class="dim">{[a.taskQueue && `task queue ${a.taskQueue}`, a.startToClose ? `at most ${shortDuration(a.startToClose)}` : "local"].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
