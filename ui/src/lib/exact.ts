// JSON whose numbers keep all their digits. A browser's number has 17 of them, and Go's int64 has 19.

/** A number that a browser cannot hold. Its text is that of the JSON. */
export class Exact {
  constructor(private readonly text: string) {}
  toString(): string {
    return this.text;
  }
  toJSON(): string {
    return mark + this.text;
  }
}

/** What precedes the text of an Exact while JSON.parse and JSON.stringify see it as a string. No string of others begins so. */
const mark = `weft-number ${[...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16)).join("")} `;
const marked = new RegExp(`"${mark}([^"]*)"`, "g");

/** Matches texts that may have a number which a browser cannot hold: most have none. */
const suspect = /[\d.]{16}|\d[eE][+-]?\d/;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** Parses JSON. Throws if it is none. A number that a browser cannot hold becomes an Exact. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!suspect.test(text)) return value;
  let found = false;
  const kept = text.replace(tokens, (token) => {
    if (token.startsWith('"') || !losesDigits(token)) return token;
    found = true;
    return `"${mark}${token}"`;
  });
  if (!found) return value;
  return JSON.parse(kept, (_, v: unknown) => (typeof v === "string" && v.startsWith(mark) ? new Exact(v.slice(mark.length)) : v));
}

/** Returns a value as JSON, as JSON.stringify does. Each Exact is the number that it was. */
export function writeJson(value: unknown, indent?: number): string | undefined {
  const text = JSON.stringify(value, null, indent) as string | undefined; // of undefined
  return text?.includes(mark) ? text.replace(marked, "$1") : text;
}

/** Reports whether a browser would keep a number of JSON as another one. */
function losesDigits(token: string): boolean {
  return canonical(token) !== canonical(String(Number(token)));
}

/** Returns a number without zeros at its ends, and its exponent, so that equal numbers have equal texts. */
function canonical(number: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number);
  if (!parts) return number;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  if (digits === "") return "0";
  return `${sign}${digits}e${Number(exponent) - fraction.length + all.length - digits.length}`;
}
