// What is shown after an action.
import type { Answer } from "../api/http.js";
import { toast } from "../components/toast.js";

/** Says that an action was carried out, and what it cost. */
export function done(title: string, answer: Answer<unknown>, detail?: string): void {
  toast({ tone: "good", title, detail, cost: answer.cost });
}

/** Returns a text, or undefined if it is empty: the member is then left out. */
export function orNone(text: string): string | undefined {
  return text.trim() || undefined;
}
