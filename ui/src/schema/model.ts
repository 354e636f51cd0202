// The part of JSON Schema 2020-12 that a program's contract has.
import type { Exact } from "../lib/exact.js";

/** A number of a schema, whose digits a browser may not be able to hold. */
type Bound = number | Exact;

/** A schema. true takes everything, false nothing. */
export type Schema = Keywords | boolean;

export interface Keywords {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  format?: string;
  contentEncoding?: string;
  const?: unknown;
  enum?: unknown[];
  minimum?: Bound;
  maximum?: Bound;
  exclusiveMinimum?: Bound;
  exclusiveMaximum?: Bound;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  propertyNames?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** The schemas that references name: the $defs of a contract. */
export type Defs = Record<string, Schema>;

/** A schema whose references have been followed, and from which null has been taken. */
export interface Resolved {
  schema: Keywords;
  /** The name in $defs, if the schema was a reference. */
  name?: string;
  description?: string;
  /** null is accepted besides. */
  nullable: boolean;
  /** Nothing is accepted. */
  nothing: boolean;
}

const prefix = "#/$defs/";
const mostReferences = 50;

/** Returns the name in $defs to which a reference points. */
function nameOf(ref: string): string | undefined {
  if (!ref.startsWith(prefix)) return undefined;
  return ref.slice(prefix.length).replace(/~1/g, "/").replace(/~0/g, "~");
}

/** Follows the references of a schema. One that leads nowhere, or in a circle, takes everything. */
export function resolve(schema: Schema, defs: Defs): Resolved {
  let now = schema;
  const found: Resolved = { schema: {}, nullable: false, nothing: false };
  for (let i = 0; i < mostReferences; i++) {
    if (typeof now === "boolean") return { ...found, nothing: !now };
    found.description ??= now.description;
    if (now.$ref !== undefined) {
      const name = nameOf(now.$ref);
      const to = name === undefined || !Object.hasOwn(defs, name) ? undefined : defs[name];
      if (to === undefined) return found;
      found.name ??= name;
      const { $ref: _, description: __, ...beside } = now;
      now = typeof to === "object" && Object.keys(beside).length > 0 ? { ...to, ...beside } : to;
      continue;
    }
    const choices = now.anyOf ?? now.oneOf;
    const others = choices?.filter((c) => !isNull(c));
    if (choices && others && others.length < choices.length) {
      found.nullable = true;
      const only = others[0];
      if (others.length === 1 && only !== undefined) {
        now = only;
        continue;
      }
      const { anyOf: _, oneOf: __, ...beside } = now;
      return { ...found, schema: { ...beside, [now.anyOf ? "anyOf" : "oneOf"]: others } };
    }
    if (Array.isArray(now.type) && now.type.length > 1 && now.type.includes("null")) {
      const types = now.type.filter((t) => t !== "null");
      const { enum: all, ...rest } = now;
      found.nullable = all === undefined || all.includes(null);
      return { ...found, schema: { ...rest, type: types.length === 1 ? (types[0] as string) : types, ...(all ? { enum: all.filter((v) => v !== null) } : {}) } };
    }
    return { ...found, schema: now };
  }
  return found;
}

function isNull(schema: Schema): boolean {
  return typeof schema === "object" && (schema.type === "null" || (Array.isArray(schema.type) && schema.type.length === 1 && schema.type[0] === "null"));
}

/** Returns the type of a schema if it has one only. */
export function typeOf({ type }: Keywords): string | undefined {
  if (!Array.isArray(type)) return type;
  return type.length === 1 ? type[0] : undefined;
}

/** What a string holds if its schema has this pattern: a field of Go with the option "string". Package internal/contract/schemas writes them. */
const inside: Record<string, string> = {
  "^(true|false)$": "boolean",
  "^(0|-?[1-9][0-9]*)$": "integer",
  "^(0|[1-9][0-9]*)$": "integer",
  "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$": "number",
  '^"[\\s\\S]*"$': "string",
};

/** Returns the type of the value that a string holds, or undefined if it is a text. */
export function insideOf({ pattern }: Keywords): string | undefined {
  return pattern !== undefined && Object.hasOwn(inside, pattern) ? inside[pattern] : undefined;
}

/** Keywords that a form and the check understand, and those that only tell something. */
const known = new Set([
  ..."$ref type format contentEncoding const enum minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern properties required additionalProperties propertyNames items minItems maxItems anyOf oneOf".split(" "),
  ..."title description $comment default examples deprecated readOnly writeOnly $schema".split(" "),
]);

/** Reports whether all keywords of a schema are known. Those of the schemas in it do not count. */
export function isKnown(schema: Keywords): boolean {
  return Object.keys(schema).every((k) => known.has(k));
}

const mostShown = 40;

/** Returns a text for a message or a path, cut. */
export function cut(text: string): string {
  const characters = text.length > mostShown ? [...text] : [];
  return characters.length > mostShown ? `${characters.slice(0, mostShown - 1).join("")}…` : text;
}

/** Returns the part of a path that leads to a member, as in input.items or input["a b"]. */
export function step(name: string): string {
  const short = cut(name);
  return /^[A-Za-z0-9_$-]+$/.test(short) ? `.${short}` : `[${JSON.stringify(short)}]`;
}

/** Compares two numbers of JSON, however large. Negative: the first is smaller. */
export function compareNumbers(a: string, b: string): number {
  const [x, y] = [decimal(a), decimal(b)];
  if (x.sign !== y.sign) return x.sign - y.sign;
  if (x.exponent !== y.exponent) return x.sign * (x.exponent - y.exponent);
  return x.digits === y.digits ? 0 : x.sign * (x.digits < y.digits ? -1 : 1);
}

/** Returns a number as 0.DIGITS times ten to the exponent. The sign of zero is zero. */
function decimal(number: string): { sign: number; digits: string; exponent: number } {
  const [, minus = "", whole = "", fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/^0+/, "");
  if (digits === "") return { sign: 0, digits: "", exponent: 0 };
  return { sign: minus ? -1 : 1, digits: digits.replace(/0+$/, ""), exponent: Number(exponent) + whole.length - (all.length - digits.length) };
}
