// JSON as a tree that loses nothing: numbers keep their text, objects their order and their
// duplicates. A form edits such a tree.

/** A value of JSON, or a part of it that somebody is typing. */
export type Node =
  | { kind: "null" }
  | { kind: "boolean"; value: boolean }
  | { kind: "number"; text: string }
  /** raw is its JSON, if the value was parsed. */
  | { kind: "string"; value: string; raw?: string }
  | { kind: "array"; items: Entry[] }
  | { kind: "object"; items: Entry[] }
  /** JSON as a text, which may be incomplete. */
  | { kind: "text"; text: string };

/** An item of an array, or a member of an object. */
export interface Entry {
  /** Names the entry in the document of the page, whatever happens to the others. */
  key: number;
  /** The name of a member. */
  name: string;
  value: Node;
}

let keys = 0;

/** Returns an entry of an array or an object. */
export function entry(value: Node, name = ""): Entry {
  return { key: ++keys, name, value };
}

/** How deeply a value may be nested. */
const mostDepth = 500;

const token = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s{}[\],:"]+))/y;

/** Parses JSON. It throws if the text is not JSON, or is nested too deeply. */
export function parseNode(text: string): Node {
  JSON.parse(text); // refuses what is not JSON: the rest reads tokens only
  token.lastIndex = 0;
  const next = (): string => {
    const found = token.exec(text);
    return found?.[1] ?? found?.[2] ?? found?.[3] ?? "";
  };
  const value = (t: string, depth: number): Node => {
    if (depth > mostDepth) throw new SyntaxError(`The value is nested more than ${mostDepth} deep.`);
    switch (t[0]) {
      case "{":
      case "[": {
        const items: Entry[] = [];
        for (let n = next(); n !== "}" && n !== "]"; n = next()) {
          if (n === ",") n = next();
          if (t === "[") {
            items.push(entry(value(n, depth + 1)));
          } else {
            next(); // the colon
            items.push(entry(value(next(), depth + 1), JSON.parse(n) as string));
          }
        }
        return { kind: t === "{" ? "object" : "array", items };
      }
      case '"':
        return { kind: "string", value: JSON.parse(t) as string, raw: t };
      case "t":
      case "f":
        return { kind: "boolean", value: t === "true" };
      case "n":
        return { kind: "null" };
      default:
        return { kind: "number", text: t };
    }
  };
  return value(next(), 0);
}

/** Reports whether a value was given. A number or a JSON text that is empty is not. */
export function isGiven(node: Node | undefined): node is Node {
  return node !== undefined && !((node.kind === "number" || node.kind === "text") && node.text.trim() === "");
}

/** Returns a value as JSON, which is empty if none was given. What somebody is typing is written as it is. */
export function writeNode(node: Node | undefined, indent = 0, before = ""): string {
  if (!isGiven(node)) return "";
  switch (node.kind) {
    case "null":
      return "null";
    case "boolean":
      return String(node.value);
    case "string":
      return node.raw ?? JSON.stringify(node.value);
    case "number":
    case "text":
      return node.text.trim();
  }
  const [open, close] = node.kind === "array" ? "[]" : "{}";
  const given = node.items.filter((e) => isGiven(e.value));
  if (given.length === 0) return `${open}${close}`;
  const inner = before + " ".repeat(indent);
  const [line, last] = indent ? [`\n${inner}`, `\n${before}`] : ["", ""];
  const parts = given.map((e) => `${line}${node.kind === "array" ? "" : `${JSON.stringify(e.name)}:${indent ? " " : ""}`}${writeNode(e.value, indent, inner)}`);
  return `${open}${parts.join(",")}${last}${close}`;
}

/** Returns the value of a JSON value that a program has, such as one of a schema. */
export function nodeOf(value: unknown, write: (value: unknown) => string | undefined): Node {
  return parseNode(write(value) ?? "null");
}

/** Returns the value of a member, the last one if there are several. */
export function member(node: Node | undefined, name: string): Node | undefined {
  return node?.kind === "object" ? node.items.findLast((e) => e.name === name)?.value : undefined;
}
