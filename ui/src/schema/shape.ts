// Which field a schema gets in a form, and what a form begins with.
import { writeJson } from "../lib/exact.js";
import { count } from "../lib/format.js";
import { type Defs, insideOf, isKnown, type Keywords, resolve, type Schema, typeOf } from "./model.js";
import { type Entry, entry, type Node, parseNode, writeNode } from "./node.js";

/** The kinds of fields. json is a text of JSON: that is what is left if a form knows no better. */
export type FieldKind = "boolean" | "integer" | "number" | "string" | "enum" | "const" | "object" | "map" | "array" | "choice" | "null" | "json";

/** A field of a form. */
export interface Shape {
  kind: FieldKind;
  schema: Keywords;
  nullable: boolean;
  /** The comment of the declaration. */
  description?: string;
  /** The name of the type, if it has one. */
  name?: string;
  /** The forms of a choice. */
  choices: Schema[];
  /** The JSON of the values of an enum, or of a const. */
  values: string[];
}

/** Returns the field of a schema. */
export function shapeOf(schema: Schema, defs: Defs): Shape {
  const { schema: s, nullable, nothing, ...told } = resolve(schema, defs);
  const choices = s.oneOf ?? s.anyOf ?? [];
  const only = choices.length === 1 ? choices[0] : undefined;
  if (only !== undefined && isPlain(s)) return { ...shapeOf(only, defs), nullable, ...told };
  const listed = s.enum ?? (s.const === undefined ? [] : [s.const]);
  const values = listed.map((v) => writeJson(v) ?? "null");
  return { kind: nothing ? "json" : kindOf(s, listed), schema: s, nullable, choices, values, ...told };
}

/** Reports whether a choice is all that a schema says, besides a type that its forms repeat. */
function isPlain(s: Keywords): boolean {
  return isKnown(s) && s.properties === undefined && s.enum === undefined && s.const === undefined && s.items === undefined;
}

function kindOf(s: Keywords, listed: unknown[]): FieldKind {
  if (!isKnown(s)) return "json";
  if (listed.length > 0) return s.enum === undefined ? "const" : listed.every((v) => v === null || typeof v !== "object" || "toJSON" in v) ? "enum" : "json";
  if (s.oneOf ?? s.anyOf) return isPlain(s) ? "choice" : "json";
  switch (typeOf(s)) {
    case "object":
      if (s.properties && Object.keys(s.properties).length > 0) return "object";
      return typeof s.additionalProperties === "object" && Object.keys(s.additionalProperties).length > 0 ? "map" : "json"; // a map of any value is JSON
    case "array":
      return s.items === undefined ? "json" : "array";
    case "string":
      return "string";
    case "integer":
      return "integer";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    default:
      return "json";
  }
}

/** Reports whether a field can show a value. Another value is shown as JSON, so that nothing is lost. */
export function fits(shape: Shape, node: Node | undefined): boolean {
  if (node === undefined || (node.kind === "null" && shape.nullable)) return true;
  switch (shape.kind) {
    case "boolean":
    case "array":
      return node.kind === shape.kind && (node.kind !== "array" || node.items.length <= mostItems);
    case "integer":
    case "number":
      return node.kind === "number";
    case "string":
      return node.kind === "string" && isPlainText(node.value);
    case "enum":
      return node.kind !== "object" && node.kind !== "array" && (node.kind !== "text" || node.text.trim() === "");
    case "object":
    case "map":
      return node.kind === "object" && node.items.length <= mostItems && (shape.kind === "map" || !hasDuplicates(node.items));
    case "null":
      return node.kind === "null";
    case "const":
      return writeNode(node) === shape.values[0];
    case "choice":
      return true;
    case "json":
      return false;
  }
}

/** How many items of a list have fields of their own. */
export const mostItems = 100;
/** How deeply fields are nested. */
export const mostNested = 12;

/** Reports whether a text field keeps a text as it is. */
function isPlainText(text: string): boolean {
  return !/[\u0000-\u0009\u000b-\u001f\u007f\ud800-\udfff]/u.test(text);
}

function hasDuplicates(items: Entry[]): boolean {
  return new Set(items.map((e) => e.name)).size < items.length;
}

/** Returns what a field begins with; undefined if it is left to the user. */
export function initial(schema: Schema, defs: Defs, root = false, depth = 0): Node | undefined {
  const shape = shapeOf(schema, defs);
  const s = shape.schema;
  if (depth > mostNested) return undefined;
  if (shape.nullable && !root && shape.kind !== "array" && shape.kind !== "map") return { kind: "null" };
  switch (shape.kind) {
    case "null":
      return { kind: "null" };
    case "boolean":
      return { kind: "boolean", value: false };
    case "const":
      return parseNode(shape.values[0] ?? "null");
    case "array":
      return { kind: "array", items: Array.from({ length: Math.min(s.minItems ?? 0, mostItems) }, () => entry(blank(s.items ?? true, defs, depth + 1))) };
    case "map":
      return { kind: "object", items: [] };
    case "object": {
      const fields = Object.entries(s.properties ?? {}).filter(([name]) => s.required?.includes(name));
      const items = fields.flatMap(([name, field]) => {
        const value = initial(field, defs, false, depth + 1);
        return value === undefined ? [] : [entry(value, name)];
      });
      return { kind: "object", items };
    }
    default:
      return undefined;
  }
}

/** Returns the value of a field that somebody has added: one with a place in the tree. */
export function blank(schema: Schema, defs: Defs, depth = 0): Node {
  const begun = initial(schema, defs, true, depth);
  if (begun !== undefined) return begun;
  const { kind } = shapeOf(schema, defs);
  if (kind === "string") return { kind: "string", value: "" };
  if (kind === "integer" || kind === "number") return { kind: "number", text: "" };
  return { kind: "text", text: "" };
}

/** Returns the name of a form of a choice: its title, its constant, its type's name, or its type. */
export function choiceName(schema: Schema, defs: Defs): string {
  const shape = shapeOf(schema, defs);
  const constant = Object.values(shape.schema.properties ?? {})
    .map((p) => resolve(p, defs).schema.const)
    .find((c) => c !== undefined);
  return shape.schema.title ?? (constant === undefined ? undefined : String(constant)) ?? shape.name ?? (shape.kind === "const" ? shape.values[0] : undefined) ?? typeOf(shape.schema) ?? "JSON";
}

/** Says which values a field takes, in a few words. */
export function limits({ kind, schema: s }: Shape): string | undefined {
  const range = (least: unknown, most: unknown, of: string): string | undefined => {
    if (least === undefined && most === undefined) return undefined;
    return least === undefined ? `at most ${String(most)}${of}` : most === undefined ? `at least ${String(least)}${of}` : `${String(least)} to ${String(most)}${of}`;
  };
  const numbers = (s: Keywords): string | undefined => {
    const { exclusiveMinimum: above, exclusiveMaximum: below } = s;
    return [range(s.minimum, s.maximum, ""), above !== undefined && `above ${String(above)}`, below !== undefined && `below ${String(below)}`].filter(Boolean).join(", ") || undefined;
  };
  const said = ((): string | undefined => {
    switch (kind) {
      case "integer":
        if (s.format === "duration") return "a duration, as 90s or 1h30m, or nanoseconds";
        return [isInt32(s) ? undefined : numbers(s), "a whole number"].filter(Boolean).reverse().join(", ");
      case "number":
        return numbers(s) ?? "a number";
      case "string":
        if (s.format === "date-time") return "a time, as 2026-12-01T08:00:00Z";
        if (s.contentEncoding === "base64") return "bytes in base64";
        if (insideOf(s) !== undefined) return `a text that holds ${{ boolean: "true or false", integer: "a whole number", number: "a number", string: "a text in quotes" }[insideOf(s) as string]}`;
        return [range(s.minLength, s.maxLength, (s.maxLength ?? s.minLength) === 1 ? " character" : " characters"), s.pattern && `matches ${s.pattern}`].filter(Boolean).join(", ") || undefined;
      case "array":
        return s.minItems !== undefined && s.minItems === s.maxItems ? `${count(s.minItems)} items` : range(s.minItems, s.maxItems, (s.maxItems ?? s.minItems) === 1 ? " item" : " items");
      default:
        return undefined;
    }
  })();
  return said && `${said[0]?.toUpperCase() ?? ""}${said.slice(1)}.`;
}

/** Reports whether the bounds are those of Go's int32, of which a form says nothing. */
function isInt32(s: Keywords): boolean {
  return s.minimum === -2147483648 && s.maximum === 2147483647;
}

const units: Record<string, bigint> = { ns: 1n, us: 1_000n, µs: 1_000n, ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n };

/** Returns the nanoseconds of a duration such as 1h30m, or the text if it is none. */
export function nanoseconds(text: string): string {
  const parts = /^\s*(-?)((?:\d+(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+)\s*$/.exec(text);
  if (!parts) return text;
  let sum = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of parts[2]?.matchAll(/(\d+)(?:\.(\d+))?([a-zµ]+)/g) ?? []) {
    sum += (BigInt(whole + fraction) * (units[unit] ?? 0n)) / 10n ** BigInt(fraction.length);
  }
  return `${parts[1]}${sum}`;
}
