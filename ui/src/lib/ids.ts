// Ids of requests.
import { writeJson } from "./exact.js";

/** Returns a new id with which a request can be sent again and takes effect once. */
export function newId(prefix: string): string {
  const random = crypto.getRandomValues(new Uint8Array(8)); // randomUUID is there only with HTTPS
  return `${prefix}-${[...random].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * Returns a function that names requests: with the same id if the same request is sent again, and
 * with another one if its content has changed. The server does nothing for an id that it knows.
 */
export function requestIds(prefix: string): (content: unknown) => string {
  let sent: string | undefined;
  let id = "";
  return (content) => {
    const text = writeJson(content);
    if (text !== sent || id === "") [sent, id] = [text, newId(prefix)];
    return id;
  };
}
