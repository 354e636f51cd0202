// What the server says of itself.
import { unknownPath, withFeature } from "./features.js";
import { get } from "./http.js";
import type { components } from "./schema.js";

/** Lists the types that the program has registered. Undefined: the server cannot say them. */
export function types(abort?: AbortSignal): Promise<components["schemas"]["TypeListResponse"] | undefined> {
  return withFeature("types", () => get("types", undefined, abort), () => Promise.resolve(undefined), unknownPath);
}
