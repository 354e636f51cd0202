// The router. All state that a link should carry is in the fragment of the address, so that the
// page works below any stage or base path: #/runs?status=failed, #/workflows/order-7/1-ab/events/41.
import { computed, signal } from "@preact/signals";
import { decode } from "./address.js";

/** A place in the page: the segments of its path, and its parameters. */
export interface Place {
  segments: string[];
  query: URLSearchParams;
}

function parse(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { segments: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

/** Where the page is. */
export const place = computed(() => parse(hash.value));

/** Returns the address of a place. Parameters that are empty or undefined are left out. */
export function href(segments: readonly string[], query: Record<string, string | undefined> | URLSearchParams = {}): string {
  const params = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
  }
  const text = params.toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Goes to an address of href. With replace, the present place is not kept in the history. */
export function go(to: string, replace = false): void {
  if (replace) {
    history.replaceState(history.state, "", to);
    hash.value = to;
  } else {
    location.hash = to;
  }
}

/** Changes parameters of the present place; undefined removes one. */
export function setQuery(changes: Record<string, string | undefined>, replace = false): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  go(href(place.value.segments, query), replace);
}

/** Returns the address of a run's page, or of a part of it. Without a run it is the latest one's. */
export function runHref(workflowId: string, runId?: string, ...part: string[]): string {
  return href(["workflows", workflowId, runId ?? "latest", ...part]);
}

/** The parameters of a pattern: workflows/:id/:run? */
export type Params = Record<string, string | undefined>;

/** Matches segments with a pattern. Returns its parameters, or undefined if they do not match. */
export function match(pattern: string, segments: readonly string[]): Params | undefined {
  const parts = pattern.split("/").filter(Boolean);
  if (segments.length > parts.length) return undefined;
  const params: Params = {};
  for (const [i, part] of parts.entries()) {
    const segment = segments[i];
    if (part.startsWith(":")) {
      if (segment === undefined && !part.endsWith("?")) return undefined;
      params[part.replace(/^:|\?$/g, "")] = segment;
    } else if (part !== segment) {
      return undefined;
    }
  }
  return params;
}
