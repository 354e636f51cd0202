// The builds with the open runs on each, and moving those runs.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { moveRun } from "../api/actions.js";
import { type Builds, readBuilds } from "../api/deployment.js";
import { reason } from "../api/http.js";
import { listRuns } from "../api/workflows.js";
import { moveBody, type Target, TargetFields } from "../actions/move.js";
import { Badge } from "../components/badge.js";
import { Dialog } from "../components/dialog.js";
import { Icon } from "../components/icon.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { count, plural } from "../lib/format.js";
import { quote } from "../lib/filter.js";
import { useLive } from "../lib/live.js";
import { href, runHref } from "../lib/route.js";
import { useTitle } from "../lib/title.js";
import { PageHead } from "./schedules.js";

/** How often the builds are read once all runs were counted, in milliseconds. */
const every = 15_000;

/** The builds, as far as their runs were counted. */
interface Counted extends Builds {
  runs: Map<string, number>;
}

/** Adds a page to those before it: the counts of the pages are added up. */
function add(page: Builds, before: Counted | undefined): Counted {
  const runs = new Map(before?.runs);
  for (const r of page.openRuns ?? []) runs.set(r.build ?? "", (runs.get(r.build ?? "") ?? 0) + r.runs);
  return { ...before, ...page, versions: before?.versions ?? page.versions, nextPageToken: page.nextPageToken, runs };
}

/** The builds. */
export function BuildsPage(): JSX.Element {
  const data = useLive<Counted>("builds", async (abort, previous) => {
    const from = previous?.nextPageToken ? previous : undefined;
    const value = add(await readBuilds(from?.nextPageToken, abort), from);
    return { value, again: value.nextPageToken ? 0 : every };
  });
  const [asked, setAsked] = useState<string>();
  useTitle("Builds");
  const b = data.value;
  const versions = new Map(b?.versions?.map((v) => [v.build, v.version]));
  const known = b ? [...new Set([b.here, ...versions.keys(), ...[...b.runs.keys()].filter(Boolean)])] : [];
  return (
    <section>
      <PageHead title="Builds" />
      {data.error !== undefined && <Trouble error={data.error} onRetry={data.refresh} />}
      {data.loading && <Skeleton lines={4} />}
      {b && (
        <>
          <table class="rows builds">
            <thead>
              <tr>
                <th scope="col">Build</th>
                <th scope="col">Open runs</th>
                {versions.size > 0 && <th scope="col">Version</th>}
                <th scope="col">
                  <span class="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {["", ...known].map((build) => {
                const runs = b.openRuns ? (b.runs.get(build) ?? 0) : undefined;
                return (
                  <tr key={build}>
                    <td class="primary">
                      {build ? <strong class="mono">{build}</strong> : "Not pinned: the newest build runs them"}{" "}
                      {build === b.here && (
                        <Badge tone="good" icon="check">
                          Answers here
                        </Badge>
                      )}
                    </td>
                    <td class="num" data-label="Open runs">
                      {runs === undefined ? (
                        <span class="dim">unknown: this deployment keeps no list</span>
                      ) : runs > 0 && build ? (
                        <a href={href(["runs"], { q: `BuildId = ${quote(build)} AND ExecutionStatus = 'running'` })}>{plural(runs, "run")}</a>
                      ) : (
                        plural(runs, "run")
                      )}
                      {b.nextPageToken ? "…" : ""}
                    </td>
                    {versions.size > 0 && <td class="num">{versions.get(build) ?? ""}</td>}
                    <td>
                      {build && runs ? (
                        <button type="button" class="small" aria-label={`Move runs of ${build}`} onClick={() => setAsked(build)}>
                          <Icon name="branch" size={14} /> Move runs…
                        </button>
                      ) : null}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          {b.nextPageToken && (
            <p class="dim" role="status">
              Counting…
            </p>
          )}
        </>
      )}
      {asked && (
        <MoveRuns
          build={asked}
          builds={known.filter((k) => k !== asked)}
          onClose={() => {
            setAsked(undefined);
            data.refresh();
          }}
        />
      )}
    </section>
  );
}

interface Progress {
  moved: number;
  refused: { workflowId: string; runId: string; why: string }[];
}

/** How many refused runs are shown. */
const mostRefused = 20;

/**
 * Moves the open runs of a build, one after the other, for as long as the dialog is open. What was
 * moved stays moved if it is closed.
 */
function MoveRuns({ build, builds, onClose }: { build: string; builds: string[]; onClose: () => void }): JSX.Element {
  const [to, setTo] = useState<Target>("none");
  const [named, setNamed] = useState("");
  const [phase, setPhase] = useState<"asks" | "moves" | "ended">("asks");
  const [progress, setProgress] = useState<Progress>({ moved: 0, refused: [] });
  const [failed, setFailed] = useState<unknown>();
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const move = async (): Promise<void> => {
    setPhase("moves");
    const stopped = abort.current.signal;
    const filter = `BuildId = ${quote(build)} AND ExecutionStatus = 'running'`;
    let all: Progress = { moved: 0, refused: [] };
    try {
      for (let page: string | undefined, first = true; (first || page) && !stopped.aborted; first = false) {
        const answer = await listRuns(filter, page, undefined, stopped);
        page = answer.next;
        for (const r of answer.runs) {
          if (stopped.aborted) return;
          try {
            await moveRun(r, moveBody(to, named));
            all = { ...all, moved: all.moved + 1 };
          } catch (error) {
            all = { ...all, refused: [...all.refused, { workflowId: r.workflowId, runId: r.runId, why: reason(error) }] };
          }
          setProgress(all);
        }
      }
    } catch (error) {
      if (stopped.aborted) return;
      setFailed(error);
    }
    setPhase("ended");
  };
  return (
    <Dialog title={`Move the runs of ${build}`} onClose={onClose}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (phase === "asks") void move();
        }}
      >
        {phase === "asks" && (
          <>
            <p class="does">
              The open runs of <code>{build}</code> are moved one after the other. The build that a run moves to replays its history first: a run whose history differs from its code stays, and is shown
              here.
            </p>
            <TargetFields to={to} setTo={setTo} build={named} setBuild={setNamed} builds={builds} />
          </>
        )}
        <div role="status">
          {phase !== "asks" && (
            <p class="does">
              {plural(progress.moved, "run")} moved{progress.refused.length > 0 ? `, ${count(progress.refused.length)} refused` : ""}
              {phase === "moves" ? "…" : "."}
            </p>
          )}
        </div>
        {failed !== undefined && <Trouble error={failed} />}
        {progress.refused.length > 0 && (
          <ul class="refused">
            {progress.refused.slice(0, mostRefused).map((r) => (
              <li key={r.workflowId + r.runId}>
                <a href={runHref(r.workflowId, r.runId)}>{r.workflowId}</a> <span class="dim">{r.why}</span>
              </li>
            ))}
          </ul>
        )}
        <footer>
          <button type="button" onClick={onClose}>
            {phase === "moves" ? "Stop" : phase === "asks" ? "Back" : "Close"}
          </button>
          {phase !== "ended" && (
            <button type="submit" class="primary" disabled={phase === "moves"}>
              {phase === "moves" ? "Moving…" : "Move the runs"}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
