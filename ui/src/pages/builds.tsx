// The builds with the open runs on each, and moving those runs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Builds, readBuilds } from "../api/deployment.js";
import { BatchForm } from "../actions/batch.js";
import { Badge } from "../components/badge.js";
import { Icon } from "../components/icon.js";
import { Skeleton, Trouble } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { plural } from "../lib/format.js";
import { quote } from "../lib/filter.js";
import { useLive } from "../lib/live.js";
import { href } from "../lib/route.js";
import { useTitle } from "../lib/title.js";

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
        <BatchForm
          title={`Move the runs of ${asked}`}
          kind="move"
          filter={`BuildId = ${quote(asked)} AND ExecutionStatus = 'Running'`}
          onClose={() => {
            setAsked(undefined);
            data.refresh();
          }}
        />
      )}
    </section>
  );
}
