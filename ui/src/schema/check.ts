// Checks a value against a schema, as the server does: the paths and the messages are those of
// package internal/contract/check, and its cases are the test of both.
import { jsonProblem } from "../lib/json.js";
import { writeJson } from "../lib/exact.js";
import { compareNumbers, cut, type Defs, insideOf, type Keywords, resolve, type Schema, step, typeOf } from "./model.js";
import { type Entry, isGiven, type Node, parseNode, writeNode } from "./node.js";

/** What is wrong with a value. */
export interface Problem {
  /** The place of the value, as in input.items[3].sku. */
  path: string;
  text: string;
  /** The value is not there. A form says that only of a field that was left. */
  missing?: boolean;
  /** It is the name of a member that is wrong, not the value. */
  ofName?: boolean;
  /** The server has refused the value. A form shows it, and sends the value again if the user wants. */
  refused?: boolean;
}

/** How a check goes. */
interface Run {
  defs: Defs;
  lenient: boolean;
  found: Problem[];
  /** How many more values are checked. A schema with choices in choices may ask for a value again and again. */
  left: { values: number };
}

/** How many values are checked. What follows is accepted: the server checks it. */
const mostValues = 50_000;

/** How deeply a value is checked. */
const mostDepth = 300;

/** Returns what is wrong with a value, in the order in which the server would find it. at begins the paths. A lenient check requires no field. */
export function problemsOf(schema: Schema, defs: Defs, at: string, value: Node | undefined, lenient = false): Problem[] {
  const run: Run = { defs, lenient, found: [], left: { values: mostValues } };
  if (isGiven(value)) check(run, schema, value, at, 0);
  return run.found;
}

/** Returns what is wrong with a text, as the server says it: the path and the reason of the first problem. Undefined if there is none. */
export function problemOf(schema: Schema, defs: Defs, at: string, text: string, lenient = false): string | undefined {
  const first = text.trim() === "" ? { path: at, text: "is missing" } : problemsOf(schema, defs, at, { kind: "text", text }, lenient)[0];
  return first && `${first.path}: ${first.text}`;
}

/** Checks a value. It adds what is wrong to the problems of the run. */
function check(run: Run, schema: Schema, node: Node, path: string, depth: number): void {
  const add = (text: string): void => void run.found.push({ path, text });
  if (node.kind === "text") {
    const problem = jsonProblem(node.text);
    if (problem !== undefined) add(problem);
    else check(run, schema, parseNode(node.text), path, depth);
    return;
  }
  if (depth > mostDepth || run.left.values-- <= 0) return;
  const { schema: s, nullable, nothing } = resolve(schema, run.defs);
  if (nothing) return add("cannot be set: the field is in an embedded pointer to an unexported struct"); // no other Go type has this schema
  if (node.kind === "null" && nullable) return;
  const choices = s.oneOf ?? s.anyOf;
  if (choices) checkChoice(run, choices, node, path, depth);
  if (!hasType(s, node)) return add(`want ${wanted(s)}, got ${node.kind}`);
  switch (node.kind) {
    case "number":
      return checkNumber(s, node.text, add);
    case "string":
      return checkString(s, node, add);
    case "boolean":
    case "null":
      return checkValues(s, node, add);
    case "array":
      return checkArray(run, s, node.items, path, depth);
    case "object":
      return checkObject(run, s, node.items, path, depth);
  }
}

/** Returns the type that a schema wants, in the words of a message. */
function wanted(s: Keywords): string {
  const type = typeOf(s);
  if (type === "string") {
    if (s.format === "date-time") return s.format;
    if (s.contentEncoding === "base64") return s.contentEncoding;
    const inside = insideOf(s);
    return inside === undefined ? type : `${inside} in a string`;
  }
  if (type === "array" && s.minItems !== undefined && s.minItems === s.maxItems) return `array of ${s.minItems}`;
  return type ?? (Array.isArray(s.type) ? s.type.join(" or ") : "another value");
}

/** Reports whether a value has the type that a schema wants, if it wants one. */
function hasType(s: Keywords, node: Node): boolean {
  const types = Array.isArray(s.type) ? s.type : [typeOf(s)];
  return types.some((t) => t === undefined || t === node.kind || (t === "integer" && node.kind === "number"));
}

const integer = /^-?(0|[1-9]\d*)$/;
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** The bounds of the formats of integers. */
const bounds: Record<string, readonly [string, string]> = {
  int64: ["-9223372036854775808", "9223372036854775807"],
  duration: ["-9223372036854775808", "9223372036854775807"],
  uint64: ["0", "18446744073709551615"],
};

function checkNumber(s: Keywords, text: string, add: (text: string) => void): void {
  const whole = typeOf(s) === "integer";
  const refuse = (want: string): void => add(`want ${listOf(s) ? listed(s) : want}, got ${cut(text)}`);
  const type = whole ? "integer" : "number";
  if (!(whole ? integer : number).test(text) || (s.format === "uint64" && text === "-0")) return refuse(type);
  const ends = bounds[whole ? (s.format ?? "") : ""];
  if (!whole && s.exclusiveMinimum !== undefined && compareNumbers(text, String(s.exclusiveMinimum)) <= 0) return refuse(`number above ${String(s.exclusiveMinimum)}`);
  if (!whole && s.exclusiveMaximum !== undefined && compareNumbers(text, String(s.exclusiveMaximum)) >= 0) return refuse(`number below ${String(s.exclusiveMaximum)}`);
  const least = bound([s.minimum, beyond(s.exclusiveMinimum, whole, 1), ends?.[0]], whole, Math.ceil, 1);
  const most = bound([s.maximum, beyond(s.exclusiveMaximum, whole, -1), ends?.[1]], whole, Math.floor, -1);
  if (least !== undefined && compareNumbers(text, least) < 0) return refuse(whole && text === "-0" ? type : `${type} of at least ${least}`);
  if (most !== undefined && compareNumbers(text, most) > 0) return refuse(`${type} of at most ${most}`);
  checkValues(s, { kind: "number", text }, add);
}

/** Returns the first integer beyond a bound that is itself not accepted. sign is 1 for a minimum. */
function beyond(given: Keywords["minimum"], whole: boolean, sign: 1 | -1): string | undefined {
  if (given === undefined || !whole) return undefined;
  const text = String(given);
  const next = integer.test(text) ? BigInt(text) : BigInt(sign > 0 ? Math.floor(Number(text)) : Math.ceil(Number(text)));
  return (next + BigInt(sign)).toString();
}

/** Returns the narrower one of two bounds, rounded for an integer. sign is 1 for a minimum. */
function bound(given: readonly unknown[], whole: boolean, round: (n: number) => number, sign: number): string | undefined {
  const texts = given.filter((b) => b !== undefined).map((b) => (whole && !integer.test(String(b)) ? BigInt(round(Number(b))).toString() : String(b)));
  return texts.reduce<string | undefined>((one, other) => (one === undefined || sign * compareNumbers(other, one) > 0 ? other : one), undefined);
}

function checkString(s: Keywords, node: Node & { kind: "string" }, add: (text: string) => void): void {
  const refuse = (want: string): void => add(`want ${want}, got ${cut(writeNode(node))}`);
  const { value } = node;
  if ((s.format === "date-time" && !isTime(value)) || (s.contentEncoding === "base64" && !isBase64(value))) return refuse(wanted(s));
  if (!isListed(s, node)) return refuse(listed(s));
  const length = s.minLength === undefined && s.maxLength === undefined ? 0 : [...value].length;
  if (s.minLength !== undefined && length < s.minLength) return refuse(`string of at least ${characters(s.minLength)}`);
  if (s.maxLength !== undefined && length > s.maxLength) return refuse(`string of at most ${characters(s.maxLength)}`);
  if (s.pattern !== undefined && matches(s.pattern, value) === false) refuse(insideOf(s) === undefined ? `string that matches ${s.pattern}` : wanted(s));
}

function characters(n: number): string {
  return n === 1 ? "1 character" : `${n} characters`;
}

const patterns = new Map<string, RegExp | undefined>();
/** A part that repeats, and is repeated: a browser may try such an expression for a very long time, and Go does not. */
const nested = /\([^()]*[+*}][^()]*\)[+*{]/;
/** Ends of lines that a dot of Go matches, and one of JavaScript does not. */
const otherEnds = /[\r\u2028\u2029]/;

/** Reports whether a text has a pattern. Undefined: the browser reads the pattern otherwise than Go, and the server decides. */
function matches(pattern: string, text: string): boolean | undefined {
  if (!patterns.has(pattern)) {
    try {
      patterns.set(pattern, nested.test(pattern) ? undefined : new RegExp(pattern, "u"));
    } catch {
      patterns.set(pattern, undefined);
    }
  }
  return otherEnds.test(text) ? undefined : patterns.get(pattern)?.test(text);
}

function checkValues(s: Keywords, node: Node, add: (text: string) => void): void {
  if (!isListed(s, node)) add(`want ${listed(s)}, got ${cut(writeNode(node))}`);
}

/** Returns the JSON of the values that a schema lists, or undefined if it lists none. */
function listOf(s: Keywords): string[] | undefined {
  return (s.enum ?? (s.const === undefined ? undefined : [s.const]))?.map((v) => writeJson(v) ?? "null");
}

/** Returns the values that a schema lists, in the words of a message. */
function listed(s: Keywords): string {
  return `${s.enum ? "one of " : ""}${listOf(s)?.join(", ") ?? ""}`;
}

/** Reports whether a value is among those that a schema lists, if it lists any. */
function isListed(s: Keywords, node: Node): boolean {
  return listOf(s)?.some((text) => isSame(node, parseNode(text))) ?? true;
}

/** Reports whether two values are the same. */
function isSame(a: Node, b: Node): boolean {
  if (a.kind === "number" && b.kind === "number") return number.test(a.text) && compareNumbers(a.text, b.text) === 0;
  if (a.kind === "string" && b.kind === "string") return a.value === b.value;
  return writeNode(a) === writeNode(b);
}

function checkArray(run: Run, s: Keywords, items: Entry[], path: string, depth: number): void {
  const exact = s.minItems !== undefined && s.minItems === s.maxItems;
  items.forEach((e, i) => {
    if (s.items === undefined || (exact && i >= (s.maxItems ?? 0))) return;
    checkEntry(run, s.items, e.value, `${path}[${i}]`, depth);
  });
  const add = (want: string): void => void run.found.push({ path, text: `want ${want}, got ${items.length}` });
  if (exact && items.length !== s.minItems) add(wanted(s));
  else if (s.minItems !== undefined && items.length < s.minItems) add(`array of at least ${s.minItems}`);
  else if (s.maxItems !== undefined && items.length > s.maxItems) add(`array of at most ${s.maxItems}`);
}

/** Checks an item, or a value of a map, which must be there. */
function checkEntry(run: Run, schema: Schema, node: Node, path: string, depth: number): void {
  if (isGiven(node)) check(run, schema, node, path, depth + 1);
  else run.found.push({ path, text: "is missing", missing: true });
}

function checkObject(run: Run, s: Keywords, items: Entry[], path: string, depth: number): void {
  const fields = s.properties ?? {};
  const isField = (name: string): boolean => Object.hasOwn(fields, name);
  const isMap = s.properties === undefined && typeOf(s) === "object";
  const names = new Set<string>();
  for (const { name, value } of items) {
    const at = path + step(name);
    const meant = isField(name) || isMap ? undefined : Object.keys(fields).find((f) => fold(f) === fold(name));
    const addName = (text: string): void => void run.found.push({ path: at, text, ofName: true });
    if (names.has(name) && (isField(name) || isMap)) addName("is there twice");
    else if (isField(name)) isGiven(value) && check(run, fields[name] as Schema, value, at, depth + 1);
    else if (meant !== undefined) addName(`write ${meant}`);
    else {
      if (s.propertyNames !== undefined) checkName(run, s.propertyNames, name, addName);
      if (s.additionalProperties !== undefined) checkEntry(run, s.additionalProperties, value, at, depth);
    }
    names.add(name);
  }
  if (run.lenient) return;
  const given = new Set(items.filter((e) => isGiven(e.value)).map((e) => e.name));
  const unknown = [...names].filter((n) => !isField(n) && n.length <= mostUnknownLength).slice(0, mostUnknown);
  for (const name of s.required ?? []) {
    if (given.has(name)) continue;
    const other = near(name, unknown);
    run.found.push({ path: path + step(name), text: other === undefined ? "is missing" : `is missing; there is ${JSON.stringify(cut(other))}`, missing: true });
  }
}

/** Checks the name of a member of a map. */
function checkName(run: Run, schema: Schema, name: string, add: (text: string) => void): void {
  const { schema: s } = resolve(schema, run.defs);
  const found: string[] = [];
  checkString(s, { kind: "string", value: name }, (text) => found.push(text));
  if (found[0] === undefined) return;
  add(insideOf(s) === "integer" ? `want integer as the name, got ${cut(JSON.stringify(name))}` : `the name: ${found[0]}`);
}

/** Returns a name as encoding/json compares it, which ignores capitals. */
function fold(name: string): string {
  return [...name]
    .map((c) => {
      const upper = c.toUpperCase();
      return (upper.length === c.length ? upper : c).toLowerCase();
    })
    .join("");
}

/** How many unknown members may be the misspelt one, and how long they are. */
const mostUnknown = 20;
const mostUnknownLength = 100;
const shortestPart = 4;

/** Returns the name that is most like another one, or undefined if none is, as package internal/near does. */
function near(to: string, names: string[]): string | undefined {
  const wanted = to.toLowerCase();
  let found: string | undefined;
  let least = 1 + Math.max(1, Math.floor(to.length / 3));
  for (const name of names) {
    const d = distance(name.toLowerCase(), wanted);
    if (d < least) [found, least] = [name, d];
  }
  if (found !== undefined || to.length < shortestPart) return found;
  for (const name of names) if (name.toLowerCase().endsWith(wanted) && (found === undefined || name.length < found.length)) found = name;
  return found;
}

/** Returns how many letters have to be added, removed or replaced to make one word of another. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Checks a value of which a schema has several forms. What is wrong is that of the form that it is nearest to. */
function checkChoice(run: Run, choices: Schema[], node: Node, path: string, depth: number): void {
  const possible = choices.filter((c) => marksOf(c, run.defs, node) >= 0);
  if (possible.length === 1) return check(run, possible[0] as Schema, node, path, depth + 1);
  const all = choices.map((c) => {
    const one: Run = { ...run, found: [] };
    check(one, c, node, path, depth + 1);
    return one.found;
  });
  if (all.some((found) => found.length === 0)) return;
  run.found.push(...(all[nearestChoice(choices, run.defs, node, all)] ?? []));
}

/** Returns the number of the form that a value is nearest to: that with its type, its constant members, and the fewest problems. */
function nearestChoice(choices: Schema[], defs: Defs, node: Node, problems: Problem[][]): number {
  const distances = choices.map((c, i) => (problems[i]?.length ?? 0) - 100 * marksOf(c, defs, node));
  return distances.indexOf(Math.min(...distances));
}

/** Returns how many members of a value have the constants that a form has; below zero if one has another value, or the value another type. */
function marksOf(schema: Schema, defs: Defs, node: Node): number {
  const { schema: s } = resolve(schema, defs);
  if (!hasType(s, node)) return -10;
  let marks = 0;
  for (const e of node.kind === "object" ? node.items : []) {
    const field = s.properties && Object.hasOwn(s.properties, e.name) ? resolve(s.properties[e.name] as Schema, defs).schema : {};
    if (field.const === undefined) continue;
    if (!isListed(field, e.value)) return -1;
    marks++;
  }
  return marks;
}

/** Returns the number of the form that a value has, or is nearest to. */
export function choiceOf(choices: Schema[], defs: Defs, node: Node): number {
  const all = choices.map((c) => problemsOf(c, defs, "", node));
  const fits = all.findIndex((found) => found.length === 0);
  return fits >= 0 ? fits : nearestChoice(choices, defs, node, all);
}

const time = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-](\d\d):(\d\d))$/;

/** Reports whether a text is an RFC 3339 time, as Go reads it. */
function isTime(text: string): boolean {
  const parts = time.exec(text)?.slice(1).map((p) => Number(p ?? 0));
  if (!parts) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts;
  const days = month === 2 ? ((year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
}

/** Reports whether a text is base64 with padding, as Go reads it: it ignores the ends of lines. */
function isBase64(text: string): boolean {
  const t = text.replace(/[\r\n]/g, "");
  return t.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(t);
}
