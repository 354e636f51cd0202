// The contract of the program: which names a workflow type has, and which types their values have.
import { useEffect, useState } from "preact/hooks";
import { afterPress } from "../lib/press.js";
import type { Defs, Schema } from "../schema/model.js";
import { unknownPath, withFeature } from "./features.js";
import { at, get } from "./http.js";

/** The type of a value. */
export interface ValueType {
  /** The schema of the value; undefined if none is taken. */
  schema: Schema | undefined;
  defs: Defs;
}

/** The kinds of names by which a run is talked to. */
export type NameKind = "updates" | "queries" | "signals";

interface Call {
  doc?: string;
  input?: Schema;
}

/** A workflow type as a contract has it. */
interface Workflow extends Partial<Record<NameKind, Record<string, Call>>> {
  doc?: string;
  input?: Schema;
  dynamic?: string[];
}

/** A contract, of one type or of several. */
export interface Contract {
  weftContract: number;
  workflows?: Record<string, Workflow>;
  activities?: Record<string, { input?: Schema; result?: Schema }>;
  $defs?: Defs;
}

/** The version of the format that the page reads. */
const version = 1;

/** Weft's own types, which no contract has. */
const ownTypes = /^weft\./;

/** Reads the contract of a type, as the code of a build has it. Undefined: the server has none. */
export async function contractOf(type: string, build: string | undefined, abort?: AbortSignal): Promise<Contract | undefined> {
  if (type === "" || ownTypes.test(type)) return undefined;
  const none = (): Promise<undefined> => Promise.resolve(undefined);
  const found = await withFeature<Contract | undefined>("contract", () => get(at`types/${type}`, { build }, abort), none, unknownPath);
  return found?.weftContract === version ? found : undefined;
}

/** Returns the contract of a type once it has been read. It is an offer: without it, forms have JSON. */
export function useContract(type: string, build: string | undefined): Contract | undefined {
  const of = JSON.stringify([type, build]);
  const [found, setFound] = useState<{ of: string; contract: Contract | undefined }>();
  useEffect(() => {
    const abort = new AbortController();
    contractOf(type, build, abort.signal).then(
      (contract) => afterPress(() => setFound({ of, contract })),
      () => undefined,
    );
    return () => abort.abort();
  }, [of]);
  return found?.of === of ? found.contract : undefined;
}

/** Returns the type of a value that a declaration has or lacks. */
function valueType(contract: Contract, schema: Schema | undefined): ValueType {
  return { schema, defs: contract.$defs ?? {} };
}

/** Returns the comment of a workflow type, and the input of a start. Undefined: they are not known. */
export function startOf(contract: Contract | undefined, type: string): { doc: string | undefined; input: ValueType } | undefined {
  const w = own(contract?.workflows, type);
  return contract && w && { doc: w.doc, input: valueType(contract, w.input) };
}

/** Returns the result of an activity. Undefined: it is not known. */
export function activityResult(contract: Contract | undefined, type: string): ValueType | undefined {
  const a = own(contract?.activities, type);
  return contract && a && valueType(contract, a.result);
}

/** What a contract says about the names of a kind. */
export interface Names {
  /** The names, sorted. */
  names: string[];
  /** The code may handle others, too. */
  open: boolean;
  /** Returns the input of a name. Undefined: it is not known. */
  input: (name: string) => ValueType | undefined;
  /** Returns the comment of a name's declaration. */
  doc: (name: string) => string | undefined;
}

/** Returns the names of a kind that a workflow type has. */
export function namesOf(contract: Contract | undefined, type: string, kind: NameKind): Names {
  const w = own(contract?.workflows, type);
  if (!contract || !w) return { names: [], open: true, input: () => undefined, doc: () => undefined };
  const calls = w[kind] ?? {};
  return {
    names: Object.keys(calls).sort(),
    open: w.dynamic?.includes(kind) ?? false,
    input: (name) => {
      const call = own(calls, name);
      return call && valueType(contract, call.input);
    },
    doc: (name) => own(calls, name)?.doc,
  };
}

function own<T>(all: Record<string, T> | undefined, name: string): T | undefined {
  return all && Object.hasOwn(all, name) ? all[name] : undefined;
}
