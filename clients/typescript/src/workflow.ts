import type { Answer, CallOptions, Costed, DeclaredError, Ended, Memo, Outcome, Page, ReadOptions, Run, SearchAttributes, SignalOptions, StartOptions, TopicOptions, TopicPage } from "./client.js";
import { Weft } from "./client.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** The input of a workflow type that takes none. */
export type None = void;

type AnyWorkflow = Workflow<unknown, unknown, unknown, unknown>;

/** The input of the workflow type of a class. */
export type InputOf<W> = W extends Workflow<infer I, unknown, unknown, unknown> ? I : never;

/** The result of the workflow type of a class. */
export type ResultOf<W> = W extends Workflow<unknown, infer R, unknown, unknown> ? R : never;

/** The search attributes of the workflow type of a class. */
export type AttributesOf<W> = W extends Workflow<unknown, unknown, infer A, unknown> ? A : never;

/** The memo of the workflow type of a class. */
export type MemoOf<W> = W extends Workflow<unknown, unknown, unknown, infer M> ? M : never;

/** The input and the options of a start. A type without an input takes the options alone. */
type StartArguments<W> = [InputOf<W>] extends [None]
  ? [options?: StartOptions<AttributesOf<W>, MemoOf<W>>]
  : [input: InputOf<W>, options?: StartOptions<AttributesOf<W>, MemoOf<W>>];

/** A generated class. */
interface WorkflowClass<W> {
  new (weft: Weft, workflowId: string, runId?: string): W;
  readonly type: string;
  readonly takesInput: boolean;
}

/** An object with the members of another one. An interface, which it copies, is no map. */
type Members<T> = { [K in keyof T]: T[K] };

/**
 * The option `start` of an update or a signal: a run of the type of a class. {@link Workflow.withStart}
 * returns it.
 */
export type StartOf<C> = C extends WorkflowClass<infer W> & { readonly type: infer T }
  ? Omit<Schemas["StartRequest"], "workflowId" | "type" | "input" | "searchAttributes" | "memo"> & {
      type: T;
      searchAttributes?: Members<AttributesOf<W>>;
      memo?: Members<MemoOf<W>>;
    } & ([InputOf<W>] extends [None] ? { input?: undefined } : { input: InputOf<W> })
  : never;

/**
 * A workflow of a type, with its id. `weft generate typescript` writes a subclass for each type. Its
 * methods send the updates, queries and signals of the type to the latest run.
 */
export abstract class Workflow<I, R, A = SearchAttributes, M = Memo> {
  /** The name of the workflow type. */
  static readonly type: string;
  /** Whether a start of the type takes an input. */
  static readonly takesInput: boolean = true;

  /** Never set: it keeps the types of what a start takes, and of the result. */
  declare protected readonly of?: { input: I; result: R; attributes: A; memo: M };

  readonly weft: Weft;
  readonly workflowId: string;
  /** The run that was started, or that the caller gave. {@link result} and {@link watch} begin with it. */
  readonly runId: string | undefined;

  /** Returns a workflow by its id. It does not check whether there is one. */
  constructor(weft: Weft, workflowId: string, runId?: string) {
    this.weft = weft;
    this.workflowId = workflowId;
    this.runId = runId;
  }

  /** Starts a run. It is durable when the promise resolves. `run` has its cost. */
  static async start<W extends AnyWorkflow>(
    this: WorkflowClass<W>,
    weft: Weft,
    workflowId: string,
    ...given: StartArguments<W>
  ): Promise<W & { readonly run: Run }> {
    const [input, options] = argumentsOf(this, given);
    const run = await weft.start(workflowId, this.type, input, options);
    return Object.assign(new this(weft, run.workflowId, run.runId), { run });
  }

  /** Starts a run, and resolves with its outcome when it has ended. */
  static run<W extends AnyWorkflow>(
    this: WorkflowClass<W>,
    weft: Weft,
    workflowId: string,
    ...given: StartArguments<W>
  ): Promise<Ended<ResultOf<W>>> {
    const [input, options] = argumentsOf(this, given);
    return weft.run(workflowId, this.type, input, options);
  }

  /** Returns the option `start` of an update or a signal that starts a run of this type if none is open. */
  static withStart<C extends WorkflowClass<AnyWorkflow>>(this: C, ...given: StartArguments<InstanceType<C>>): StartOf<C> {
    const [input, { signal, deadline, ...options } = {}] = argumentsOf(this, given);
    return { type: this.type, input, ...options } as StartOf<C>;
  }

  /** Waits until the run has ended, however long that takes. After a continue-as-new it waits for the next run. */
  result(options: ReadOptions = {}): Promise<Ended<R>> {
    return this.weft.result<R>(this.workflowId, { runId: this.runId, ...options });
  }

  /** Returns the history of the run as it grows: see {@link Weft.watch}. */
  watch(options: ReadOptions & { from?: number } = {}): AsyncGenerator<Page, void, undefined> {
    return this.weft.watch(this.workflowId, { runId: this.runId, ...options });
  }

  /** Sends an update, and resolves with its outcome. `errors` are the types that it declares. */
  protected async sendUpdate<Out, E = never>(name: string, errors: readonly string[], input: unknown, options?: CallOptions<unknown>): Promise<Outcome<Out, E>> {
    const outcome = await this.weft.call<Out>(this.workflowId, name, input, options as CallOptions | undefined);
    if (outcome.stage === "completed" || errors.length === 0) {
      return outcome as Outcome<Out, E>;
    }
    return { ...outcome, error: errorOf(outcome.failure, errors) } as Outcome<Out, E>;
  }

  /** Sends a query, and resolves with its answer. */
  protected sendQuery<Out>(name: string, input: unknown, options?: ReadOptions): Promise<Answer<Out>> {
    return this.weft.query<Out>(this.workflowId, name, input, options);
  }

  /** Sends a signal. It is durable when the promise resolves. */
  protected sendSignal(name: string, input: unknown, options?: SignalOptions<unknown>): Promise<Costed> {
    return this.weft.signal(this.workflowId, name, input, options as SignalOptions | undefined);
  }

  /** Returns the items of a topic as they are published: see {@link Weft.topic}. */
  protected readTopic<T>(name: string, options: TopicOptions = {}): AsyncGenerator<TopicPage<T>, void, undefined> {
    return this.weft.topic<T>(this.workflowId, name, { runId: this.runId, ...options });
  }
}

/** Returns the input and the options that a start was given. */
function argumentsOf(of: { takesInput: boolean }, given: unknown[]): [unknown, StartOptions | undefined] {
  return of.takesInput ? [given[0], given[1] as StartOptions | undefined] : [undefined, given[0] as StartOptions | undefined];
}

/**
 * Returns the first error in a failure that has one of these types. Any other error has the first
 * message in it: that of an activity's failure is in its cause.
 */
function errorOf(failure: Schemas["Failure"], types: readonly string[]): DeclaredError | { type?: undefined; message: string } {
  let message: string | undefined;
  for (let f: Schemas["Failure"] | undefined = failure; f !== undefined; f = f.cause) {
    if (f.type !== undefined && types.includes(f.type)) {
      return { type: f.type, message: f.message ?? f.type, details: f.details === undefined ? undefined : decode(f.details) };
    }
    message ||= f.message;
  }
  return { message: message || failure.kind };
}

/** Returns the value in the details of a failure, which are JSON in base64. */
function decode(details: string): unknown {
  const bytes = Uint8Array.from(atob(details), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
