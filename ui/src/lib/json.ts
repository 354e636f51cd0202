// JSON that people type.

/** Returns why a text is no JSON that can be sent, or undefined. An empty text is none, which is allowed. */
export function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${(error as Error).message.replace(/ in JSON| \(line.*\)$|, "[\s\S]*" is not valid JSON$/g, "")}. A text needs quotes: "Ada".`;
  }
  const number = unsafeNumber(text);
  return number && `The number ${number} has more digits than a browser keeps. Send it with the CLI.`;
}

/** Returns the first number that would be sent as another one. */
function unsafeNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    if (token.startsWith('"')) continue;
    const n = Number(token);
    if (!Number.isFinite(n) || (/^-?\d+$/.test(token) && !Number.isSafeInteger(n))) return token;
  }
  return undefined;
}

/** Returns the value of a text without a jsonProblem; undefined if it is empty. */
export function jsonValue(text: string): unknown {
  return text.trim() === "" ? undefined : JSON.parse(text);
}
