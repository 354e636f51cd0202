// JSON that people type.
import { parseJson } from "./exact.js";

/** Returns why a text is no JSON that can be sent, or undefined. An empty text is none, which is allowed. */
export function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${(error as Error).message.replace(/ in JSON| \(line.*\)$|, "[\s\S]*" is not valid JSON$/g, "")}. A text needs quotes: "Ada".`;
  }
  return undefined;
}

/** Returns the value of a text without a jsonProblem; undefined if it is empty. */
export function jsonValue(text: string): unknown {
  return text.trim() === "" ? undefined : parseJson(text);
}
