// A filter that names a search attribute which no recent run has is refused. Requests can allow it
// with a parameter, and the page with a button.
import { Refused } from "./http.js";

/** What the button or the box says that allows it. */
export const allowUnknown = "Allow unknown names";

const parameter = /\bGive unknown=allow\b/;

/** Reports whether a filter was refused because no recent run has a search attribute that it names. */
export function isUnknownName(error: unknown): error is Refused {
  return error instanceof Refused && error.kind === "invalid" && parameter.test(error.message);
}

/** Returns the refusal in the words of the page. */
export function withoutParameter(refused: Refused): Refused {
  const detail = refused.message.replace(parameter, `Choose "${allowUnknown}"`);
  return new Refused({ ...refused.problem, detail }, refused.cost);
}
