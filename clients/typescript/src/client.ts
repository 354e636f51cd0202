import createClient, { type Client } from "openapi-fetch";

import { newID, pause, whole, type Pause } from "./again.js";
import { costOf, noCost, type Cost } from "./cost.js";
import { problemOf, UnexpectedAnswer, WeftError } from "./problem.js";
import type { components, paths } from "./schema.js";
import { Wait, type WaitOptions } from "./wait.js";

type Schemas = components["schemas"];

/** The options of a client. */
export interface Options {
  /** Added to every request, for example `Authorization`. */
  headers?: Record<string, string>;
  /**
   * Sends the requests. The default is the global fetch. For a deployment on AWS, pass one that
   * signs them.
   */
  fetch?: (request: Request) => Promise<Response>;
  /**
   * The longest pause between two requests of a call that waits, in milliseconds; the default is
   * five minutes. A server asks for such a pause if the run waits for a timer: a shorter one learns
   * earlier of a cancellation, and costs more requests.
   */
  longestPause?: number;
  /** Waits between attempts and polls, for tests. The default waits in real time. */
  pause?: Pause;
}

/** The options of a request that reads. */
export interface ReadOptions extends WaitOptions {
  /** The id of a run. The default is the latest run. */
  runId?: string;
}

/** Search attributes by name. Each value names its type: `{ Region: { keyword: "eu" } }`. */
export type SearchAttributes = Schemas["SearchAttributes"];

/** The fields of a memo by name. */
export type Memo = Schemas["Memo"];

/** The options of the start of a run, whose search attributes and memo have these types. */
export interface StartOptions<A = SearchAttributes, M = Memo>
  extends Omit<Schemas["StartRequest"], "workflowId" | "type" | "input" | "searchAttributes" | "memo">,
    WaitOptions {
  /** By which the run is found. They are never encrypted. */
  searchAttributes?: A;
  /** What descriptions and lists of runs show. */
  memo?: M;
}

/** The options of a signal or an update. Those of a generated class start a run of its type alone. */
export interface CallOptions<Start = Schemas["StartRequest"]> extends ReadOptions {
  /**
   * The id by which the server recognises the update or signal when it is repeated. By default the
   * client generates one.
   */
  id?: string;
  /**
   * How long one request of an update may take, for example `5s`. This includes the wait for other
   * requests. The maximum is `20s`, which is also the default, unless the deadline is earlier. With
   * `0s` the request does not wait.
   */
  timeout?: string;
  /** Starts a run if none is open. The default of its idConflictPolicy is `useExisting`. */
  start?: Start;
}

/** What a call has cost, with all its attempts and polls. */
export interface Costed {
  cost: Cost;
}

/** The options of a signal. */
export type SignalOptions<Start = Schemas["StartRequest"]> = Omit<CallOptions<Start>, "timeout">;

/** The run of a workflow. */
export type Run = Schemas["StartResponse"] & Costed;

/** The answer of a query. */
export interface Answer<R> extends Costed {
  result: R;
}

/** The run and the id of an update. */
interface Place extends Costed {
  updateId: string;
  runId: string;
  /** Whether the update started the run. Only an update with a start has it. */
  started?: boolean;
}

/** An error that an update declares, by its type. */
export interface DeclaredError<T extends string = string, D = unknown> {
  type: T;
  message: string;
  details: D;
}

/** An error that an update does not declare. `failure` of the outcome has everything about it. */
export interface OtherError {
  type?: undefined;
  message: string;
}

/**
 * A failure. If the update declares errors (E), `error` is the one that the failure has, or an
 * {@link OtherError}.
 */
type Failed<E> = { failure: Schemas["Failure"] } & ([E] extends [never] ? unknown : { error: E | OtherError });

/** An update that was accepted. The acceptance is durable. The outcome follows. */
export type Accepted = Place & { stage: "accepted" };

/**
 * An update that was refused, by its validator or because its name or its input is wrong. It has no
 * effect. Without a `runId` it would have started the run. `at` is the place in the request that is
 * wrong, as in `input.quantity`, and `known` are the names of updates that exist.
 */
export type Rejected<E = never> = Omit<Place, "runId"> & { stage: "rejected"; runId?: string; at?: string; known?: string[] } & Failed<E>;

/**
 * The outcome of an update: its handler's result, the error that the handler returned, or a
 * refusal.
 */
export type Outcome<R, E = never> = (Place & { stage: "completed"; result: R }) | (Place & { stage: "failed" } & Failed<E>) | Rejected<E>;

/** The outcome of a run: a result, or a failure. */
export type Ended<R> = Costed &
  (
    | { status: "completed"; runId: string; result: R }
    | { status: Exclude<Schemas["Status"], "completed" | "running" | "continuedAsNew">; runId: string; failure: Schemas["Failure"] }
  );

/** The options of the reading of a topic. */
export interface TopicOptions extends ReadOptions {
  /** The offset of the first item. The default is the oldest item. */
  from?: number;
  /** How many items a page has at most, 1 to 1000. */
  limit?: number;
  /** Whether to wait for items that are not there yet. The default is true. */
  wait?: boolean;
}

/** Items of a topic, in order, each with its offset. */
export type TopicPage<T> = Omit<Schemas["TopicResponse"], "items"> & Costed & { items: (Omit<Schemas["TopicItem"], "value"> & { value: T })[] };

/** A page of a run's history: the events that are new, in order. */
export type Page = Schemas["HistoryResponse"] & Costed;

/** The secrets that sign the notifications to a receiver. */
export type WebhookSecrets = Schemas["WebhookSecretResponse"] & Costed;

/** What openapi-fetch returns. */
interface Received<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * A client of one deployment of Weft. While the answer is lost, busy or unknown, its methods repeat
 * a request with the same id, so that it takes effect once. They reject with a {@link Problem} if
 * the server refuses the request.
 */
export class Weft {
  /**
   * All operations of the API, with the types of its OpenAPI document. Each request is sent once.
   */
  readonly api: Client<paths>;
  readonly #pause: Pause;
  readonly #longestPause: number | undefined;

  /**
   * Returns a client of the deployment at this address, for example `http://127.0.0.1:8080`. It
   * does not connect.
   */
  constructor(address: string | URL, options: Options = {}) {
    const send = options.fetch ?? ((request: Request) => globalThis.fetch(request));
    this.api = createClient<paths>({ baseUrl: new URL(address).href.replace(/\/$/, ""), headers: options.headers, fetch: whole(send) });
    this.#pause = options.pause ?? pause;
    this.#longestPause = options.longestPause;
  }

  /** Starts a run of a workflow type. The run is durable when the promise resolves. */
  start(workflowId: string, type: string, input?: unknown, { signal, deadline, ...options }: StartOptions = {}): Promise<Run> {
    const body = { workflowId, type, input, ...options, requestId: options.requestId ?? newID() };
    return this.#waiting({ signal, deadline }, async (wait) => {
      const run = await this.#ask(wait, () => this.api.POST("/v1/workflows", { body, signal: wait.signal }), isRun);
      return { ...run, cost: wait.cost };
    });
  }

  /**
   * Starts a run, and resolves with its outcome when it has ended. That takes one request if the
   * run ends while the server holds it: within 20 seconds on a local server. After a continue-as-new it waits for the next run.
   */
  run<R>(workflowId: string, type: string, input?: unknown, { signal, deadline, ...options }: StartOptions = {}): Promise<Ended<R>> {
    const body = { workflowId, type, input, ...options, requestId: options.requestId ?? newID() };
    return this.#waiting({ signal, deadline }, async (wait) => {
      const send = () => this.api.POST("/v1/workflows", { params: { query: { wait: wait.long } }, body, signal: wait.signal });
      const { runId, outcome } = await this.#ask(wait, send, isRun);
      const ended = outcome && endOf<R>(outcome, wait.cost);
      if (ended !== undefined) {
        return ended;
      }
      if (outcome?.retryAfter !== undefined) {
        await wait.pause(outcome);
      }
      return this.#result<R>(wait, workflowId, outcome?.newRunId ?? runId);
    });
  }

  /** Sends a signal. It is durable when the promise resolves. */
  signal(workflowId: string, signal: string, input?: unknown, options: SignalOptions = {}): Promise<Costed> {
    const params = { path: { workflowId, signal }, query: { runId: options.runId } };
    const body = { input, requestId: options.id ?? newID(), start: withID(options.start) };
    return this.#waiting(options, async (wait) => {
      const send = () => this.api.POST("/v1/workflows/{workflowId}/signals/{signal}", { params, body, signal: wait.signal });
      await this.#ask(wait, send, () => true);
      return { cost: wait.cost };
    });
  }

  /** Sends a query, and resolves with its answer. A query writes nothing. */
  query<R>(workflowId: string, query: string, input?: unknown, options: ReadOptions = {}): Promise<Answer<R>> {
    const params = { path: { workflowId, query }, query: { runId: options.runId } };
    return this.#waiting(options, async (wait) => {
      const send = () => this.api.POST("/v1/workflows/{workflowId}/queries/{query}", { params, body: { input }, signal: wait.signal });
      const answer = await this.#ask(wait, send, (a) => "result" in a);
      return { result: answer.result as R, cost: wait.cost };
    });
  }

  /** Sends an update and waits for its outcome, however long that takes. */
  call<R>(workflowId: string, update: string, input?: unknown, options: CallOptions = {}): Promise<Outcome<R>> {
    return this.#waiting(options, async (wait) => {
      const sent = await this.#update(wait, workflowId, update, input, "completed", options);
      switch (sent.stage) {
        case "completed":
          return outcomeOf<R>(sent, wait.cost);
        case "rejected":
          return { ...sent, cost: wait.cost };
        default:
          if (sent.retryAfter !== undefined) {
            await wait.pause(sent);
          }
          return withStarted(await this.#outcome<R>(wait, workflowId, sent.updateId, sent.runId), sent.started);
      }
    });
  }

  /**
   * Sends an update, and resolves when it is durably accepted, or rejected. {@link outcome} waits
   * for its outcome.
   */
  send(workflowId: string, update: string, input?: unknown, options: CallOptions = {}): Promise<Accepted | Rejected> {
    return this.#waiting(options, async (wait) => {
      const sent = await this.#update(wait, workflowId, update, input, "accepted", options);
      if (sent.stage === "rejected") {
        return { ...sent, cost: wait.cost };
      }
      return withStarted({ stage: "accepted" as const, updateId: sent.updateId, runId: sent.runId, cost: wait.cost }, sent.started);
    });
  }

  #update(wait: Wait, workflowId: string, update: string, input: unknown, waitFor: "accepted" | "completed", options: CallOptions) {
    const params = { path: { workflowId, update }, query: { runId: options.runId } };
    const same = { updateId: options.id ?? newID(), input, waitFor, start: withID(options.start) };
    const send = async (): Promise<Received<Schemas["UpdateCompleted"] | Schemas["UpdateAccepted"] | Schemas["UpdateRejected"]>> => {
      const body = { ...same, timeout: options.timeout ?? (wait.bounded ? wait.long : undefined) };
      const answer = await this.api.POST("/v1/workflows/{workflowId}/updates/{update}", { params, body, signal: wait.signal });
      return isRejection(answer.error) ? { data: answer.error, response: answer.response } : answer;
    };
    return this.#ask(wait, send, (a) => isStage(a.stage) || a.stage === "rejected");
  }

  /** Waits for the outcome of an accepted update. Another client may have sent it. */
  outcome<R>(workflowId: string, updateId: string, options: ReadOptions = {}): Promise<Outcome<R>> {
    return this.#waiting(options, (wait) => this.#outcome<R>(wait, workflowId, updateId, options.runId));
  }

  async #outcome<R>(wait: Wait, workflowId: string, updateId: string, runId: string | undefined): Promise<Outcome<R>> {
    for (;;) {
      const poll = () => {
        const params = { path: { workflowId, update: updateId }, query: { runId, wait: wait.long }, header: wait.waited };
        return this.api.GET("/v1/workflows/{workflowId}/updates/{update}", { params, signal: wait.signal });
      };
      const answer = await this.#ask(wait, poll, (a) => isStage(a.stage), true);
      if (answer.stage === "completed") {
        return outcomeOf<R>(answer, wait.cost);
      }
      runId = answer.runId; // stay with this run even if another one is started
      await wait.pause(answer);
    }
  }

  /**
   * Waits until a run has ended, however long that takes. After a continue-as-new it waits for the
   * next run.
   */
  result<R>(workflowId: string, options: ReadOptions = {}): Promise<Ended<R>> {
    return this.#waiting(options, (wait) => this.#result<R>(wait, workflowId, options.runId));
  }

  async #result<R>(wait: Wait, workflowId: string, runId: string | undefined): Promise<Ended<R>> {
    for (;;) {
      const poll = () => {
        const params = { path: { workflowId }, query: { runId, wait: wait.long }, header: wait.waited };
        return this.api.GET("/v1/workflows/{workflowId}/result", { params, signal: wait.signal });
      };
      const answer = await this.#ask(wait, poll, (a) => isRun(a) && typeof a.status === "string", true);
      const ended = endOf<R>(answer, wait.cost);
      if (ended !== undefined) {
        return ended;
      }
      if (answer.newRunId !== undefined) {
        runId = answer.newRunId;
        continue;
      }
      runId = answer.runId;
      await wait.pause(answer);
    }
  }

  /**
   * Returns the history of a run as it grows: pages of at least one event, until the run and those
   * that continue it have closed. Only the last page may be empty. `from` is the id of the first
   * event, 1 by default. To resume later, give the `runId` and the `next` of the last page.
   */
  async *watch(workflowId: string, { runId, from = 1, ...options }: ReadOptions & { from?: number } = {}): AsyncGenerator<Page, void, undefined> {
    for (let cost = noCost(); ; ) {
      const page = await this.#waiting(options, (wait) => this.#page(wait, workflowId, runId, from), cost);
      const last = page.closed && page.newRunId === undefined;
      const shown = page.events.length > 0 || last;
      if (shown) {
        yield page;
      }
      if (last) {
        return;
      }
      cost = shown ? noCost() : page.cost; // the next page has it
      [runId, from] = page.closed ? [page.newRunId, 1] : [page.runId, page.next];
    }
  }

  /** Waits for the next page of a history: it has events, or is the last one. */
  async #page(wait: Wait, workflowId: string, runId: string | undefined, from: number): Promise<Page> {
    for (;;) {
      const poll = () => {
        const params = { path: { workflowId }, query: { runId, from: String(from), wait: wait.long }, header: wait.waited };
        return this.api.GET("/v1/workflows/{workflowId}/history", { params, signal: wait.signal });
      };
      const page = await this.#ask(wait, poll, (a) => isRun(a) && a.next >= from, true);
      if (page.events.length > 0 || page.closed) {
        return { ...page, cost: wait.cost };
      }
      runId = page.runId;
      await wait.pause(page);
    }
  }

  /**
   * Returns the items of a topic as they are published: pages of at least one item, or of the items
   * that a reset has withdrawn. Only the last page may have neither. It follows the runs that go on
   * with the topic, until none does. A request that fails for a while is repeated, so nothing is
   * lost and nothing repeated. To resume later, give the `next` of the last page as `from`.
   */
  async *topic<T>(workflowId: string, topic: string, options: TopicOptions = {}): AsyncGenerator<TopicPage<T>, void, undefined> {
    let { runId, from } = options;
    let waits = false; // the first look is at what there is
    for (let cost = noCost(); ; ) {
      const page = await this.#waiting(options, (wait) => this.#items<T>(wait, workflowId, topic, { ...options, runId, from, wait: waits }), cost);
      const last = page.newRunId === undefined && (page.closed || (options.wait === false && !page.more));
      const shown = page.items.length > 0 || page.withdrawn !== undefined || last;
      if (shown) {
        yield page;
      }
      if (last) {
        return;
      }
      cost = shown ? noCost() : page.cost; // the next page has it
      [runId, from] = [page.newRunId ?? page.runId, page.next];
      waits = options.wait !== false && !page.more && page.newRunId === undefined;
    }
  }

  /** Returns the next page of a topic. It waits for it if the options say so. */
  async #items<T>(wait: Wait, workflowId: string, topic: string, { runId, from, limit, wait: waits }: TopicOptions): Promise<TopicPage<T>> {
    for (;;) {
      const poll = () => {
        const query = { runId, from: from?.toString(), limit: limit?.toString(), wait: waits ? wait.long : undefined };
        return this.api.GET("/v1/workflows/{workflowId}/topics/{topic}", { params: { path: { workflowId, topic }, query, header: waits ? wait.waited : {} }, signal: wait.signal });
      };
      const page = await this.#ask(wait, poll, (a) => isRun(a) && Array.isArray(a.items) && a.next >= (from ?? 0), waits);
      if (page.items.length > 0 || page.more || page.closed || page.withdrawn !== undefined || !waits) {
        return { ...page, cost: wait.cost } as TopicPage<T>;
      }
      [runId, from] = [page.runId, page.next];
      await wait.pause(page);
    }
  }

  /**
   * Returns the secrets that sign the notifications to a receiver: the current one, and then the one
   * before it, if the deployment has changed it and signs with both. All URLs with the same scheme,
   * host and port have the same secrets. Whoever has them can forge notifications.
   */
  webhookSecret(receiver: string | URL, options: WaitOptions = {}): Promise<WebhookSecrets> {
    const body = { url: new URL(receiver).href };
    return this.#waiting(options, async (wait) => {
      const send = () => this.api.POST("/v1/webhooks/secret", { body, signal: wait.signal });
      const answer = await this.#ask(wait, send, (a) => Array.isArray(a.secrets) && a.secrets.length > 0);
      return { ...answer, cost: wait.cost };
    });
  }

  /**
   * Waits as the options say. An error of the client that it throws has the cost of all attempts.
   * `cost` is what the answers before have cost that nobody was shown.
   */
  async #waiting<T>(options: WaitOptions, ask: (wait: Wait) => Promise<T>, cost = noCost()): Promise<T> {
    const wait = new Wait(options, this.#pause, cost, this.#longestPause);
    try {
      return await ask(wait);
    } catch (error) {
      if (error instanceof WeftError) {
        error.cost = wait.cost;
      }
      throw error;
    } finally {
      wait.end();
    }
  }

  /**
   * Sends a request, repeats it while its answer is lost, busy or unknown, and returns the answer.
   * It throws a Problem if the server refuses the request, and UnexpectedAnswer if the answer is not
   * one of Weft's.
   */
  #ask<T>(wait: Wait, send: () => Promise<Received<T>>, isAnswer: (answer: T) => boolean, polls = false): Promise<T> {
    return wait.again(async () => {
      const { data, error, response } = await read(send);
      wait.add(costOf(response));
      if (typeof data === "object" && data !== null && isAnswer(data)) {
        return data;
      }
      if (response.ok) {
        throw new UnexpectedAnswer(`the server answered ${response.status}, but this is not an answer of Weft: check the address`);
      }
      throw problemOf(response, error);
    }, polls);
  }
}

/** Sends a request once. It throws UnexpectedAnswer if the answer is not JSON. */
async function read<T>(send: () => Promise<Received<T>>): Promise<Received<T>> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UnexpectedAnswer("the server's answer is not JSON: check the address", { cause: error });
    }
    throw error;
  }
}

function isRun(answer: { runId?: unknown }): boolean {
  return typeof answer.runId === "string";
}

function isStage(stage: unknown): boolean {
  return stage === "accepted" || stage === "admitted" || stage === "completed";
}

function isRejection(answer: unknown): answer is Schemas["UpdateRejected"] {
  return typeof answer === "object" && answer !== null && "stage" in answer && answer.stage === "rejected" && "failure" in answer;
}

/** Returns the outcome in an answer. */
function outcomeOf<R>(answer: Schemas["UpdateCompleted"], cost: Cost): Outcome<R> {
  const { updateId, runId, failure } = answer;
  const what = failure === undefined ? { stage: "completed" as const, result: answer.result as R } : { stage: "failed" as const, failure };
  return withStarted({ updateId, runId, ...what, cost }, answer.started);
}

/** Returns the outcome of a run, or undefined if the run is open or another run follows it. */
function endOf<R>({ status, runId, result, failure, newRunId }: Schemas["ResultResponse"], cost: Cost): Ended<R> | undefined {
  if (status === "completed" && newRunId === undefined) {
    return { status, runId, result: result as R, cost };
  }
  if (newRunId === undefined && status !== "running" && status !== "completed" && status !== "continuedAsNew" && failure !== undefined) {
    return { status, runId, failure, cost };
  }
  return undefined;
}

/** Returns the update with whether it started its run, if that is known. */
function withStarted<T extends Omit<Place, "runId">>(place: T, started: boolean | undefined): T {
  return started === undefined ? place : { ...place, started };
}

/** Returns a start that is safe to repeat: it has a request id. */
function withID(start: Schemas["StartRequest"] | undefined): Schemas["StartRequest"] | undefined {
  return start && { idConflictPolicy: "useExisting", ...start, requestId: start.requestId ?? newID() };
}
