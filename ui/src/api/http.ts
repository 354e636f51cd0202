// Requests to the API of the server that serves the page.
import { signal } from "@preact/signals";
import { parseJson, writeJson } from "../lib/exact.js";
import { learnClock } from "../lib/now.js";
import type { Waited } from "./pauses.js";
import type { ProblemDocument } from "./types.js";

/** What a request cost, from the header Weft-Cost. */
export interface Cost {
  writes: number;
  reads: number;
  messages: number;
}

/** An answer, with its status and its cost. */
export interface Answer<T> {
  status: number;
  value: T;
  cost: Cost | undefined;
}

/** A request that the server refused. Its message says why, and what to do. */
export class Refused extends Error {
  override name = "Refused";
  constructor(
    readonly problem: ProblemDocument,
    readonly cost: Cost | undefined,
  ) {
    super(problem.detail || problem.title);
  }
  get status(): number {
    return this.problem.status;
  }
  /** The kind of refusal, without the prefix of its URN: not-found. */
  get kind(): string {
    return this.problem.type.replace("urn:weft:problem:", "");
  }
}

/** Whether the last request was answered, not by a gateway that reached no server. */
export const answers = signal(true);

const noServer: readonly number[] = [502, 504];

/** No answer of the API arrived. It is unknown whether the request was carried out. */
export class Unreachable extends Error {
  override name = "Unreachable";
}

/** Joins the segments of a path below /v1/. Values are escaped: at`workflows/${id}/history`. */
export function at(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((path, part, i) => path + encodeURIComponent(values[i - 1] ?? "") + part);
}

export type Query = Record<string, string | number | undefined>;

/** Returns the URL of a path below /v1/, relative to the page. Parameters that are empty are left out. */
function url(path: string, query: Query = {}): URL {
  const u = new URL(`v1/${path}`, document.baseURI);
  u.hash = "";
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") u.searchParams.set(name, String(value));
  }
  return u;
}

function costOf(header: string | null): Cost | undefined {
  const found = /writes=(\d+), reads=(\d+), messages=(\d+)/.exec(header ?? "");
  return found ? { writes: Number(found[1]), reads: Number(found[2]), messages: Number(found[3]) } : undefined;
}

/** Returns the refusal of an answer that is no answer of the API, as of a gateway before it. */
function foreign(status: number): ProblemDocument {
  const said: Record<number, string> = {
    401: "The server does not accept your sign-in. Load the page again to sign in.",
    403: "The server, or a gateway before it, does not allow this.",
    429: "A gateway before the server allows no more requests for now.",
  };
  return {
    type: "urn:weft:problem:internal",
    title: `Status ${status}`,
    status,
    detail: said[status] ?? `The server, or a gateway before it, answered with the status ${status}.`,
  };
}

/** Sends a request. Refusals throw Refused; an update that was rejected (422) is an answer. */
async function request<T>(method: string, path: string, query: Query | undefined, body: unknown, abort: AbortSignal | undefined, waited: Waited = {}): Promise<Answer<T>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url(path, query), {
      method,
      ...(body === undefined ? {} : { body: writeJson(body) ?? null }),
      headers: body === undefined ? { ...waited } : { "Content-Type": "application/json" },
      ...(abort ? { signal: abort } : {}),
    });
    text = await response.text();
  } catch (error) {
    if (abort?.aborted) throw error;
    answers.value = false;
    throw new Unreachable(method === "GET" ? "The server does not answer. The page tries again." : "The server did not answer: it is not known whether it did this. Sending it again is safe.");
  }
  answers.value = !noServer.includes(response.status);
  learnClock(response.headers.get("Date"));
  const cost = costOf(response.headers.get("Weft-Cost"));
  const type = response.headers.get("Content-Type") ?? "";
  let value: unknown;
  try {
    value = text === "" ? undefined : parseJson(text);
  } catch {
    throw new Refused(foreign(response.status), cost);
  }
  if (type.startsWith("application/problem+json")) throw new Refused(value as ProblemDocument, cost);
  if (!response.ok && response.status !== 422) throw new Refused(foreign(response.status), cost);
  return { status: response.status, value: value as T, cost };
}

/** Reads from a path below /v1/. */
export async function get<T>(path: string, query?: Query, abort?: AbortSignal, waited?: Waited): Promise<T> {
  return (await request<T>("GET", path, query, undefined, abort, waited)).value;
}

/** Sends a body to a path below /v1/. */
export function post<T>(path: string, body: unknown = {}, query?: Query): Promise<Answer<T>> {
  return request<T>("POST", path, query, body, undefined);
}

/** Deletes what is at a path below /v1/. */
export function remove<T>(path: string, query?: Query): Promise<Answer<T>> {
  return request<T>("DELETE", path, query, undefined, undefined);
}

/** Returns why something failed, for people. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
