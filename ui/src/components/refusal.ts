// What a refusal says about the fields of a form.
import { createContext } from "preact";
import { Refused } from "../api/http.js";
import type { Failure } from "../api/types.js";
import { parseJson } from "../lib/exact.js";

/** Why the server has refused a form. */
export interface Refusal {
  /** The place of the value that it refuses, as in input.items[3].sku. */
  at?: string;
  /** The names that exist, if it does not know the given one. */
  known?: readonly string[];
  /** What is wrong, without the place. */
  text: string;
}

/** The refusal of the form in which a field is. */
export const RefusalContext = createContext<Refusal | undefined>(undefined);

/** Returns what a failed request says about the fields of its form. */
export function refusalOf(error: unknown): Refusal | undefined {
  return error instanceof Refused ? refusalFrom(error.problem, error.message) : undefined;
}

/** Returns what the failure of a rejected update says about the fields of its form. Its details have it. */
export function rejectionOf(failure: Failure | undefined): Refusal | undefined {
  if (failure?.details === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(failure.details), (c) => c.charCodeAt(0));
    return refusalFrom(parseJson(new TextDecoder().decode(bytes)), failure.message ?? "");
  } catch {
    return undefined; // the details of an error of the program, which may be anything
  }
}

function refusalFrom(said: unknown, message: string): Refusal | undefined {
  if (typeof said !== "object" || said === null) return undefined;
  const { at, known } = said as { at?: unknown; known?: unknown };
  if (typeof at === "string") return { at, text: reasonAt(message, at) };
  if (Array.isArray(known) && known.every((k) => typeof k === "string")) return { known, text: message };
  return undefined;
}

/** Returns what a message says behind the place of a value. */
function reasonAt(message: string, at: string): string {
  const from = message.indexOf(`${at}: `);
  return from < 0 ? message : message.slice(from + at.length + 2);
}
