import type { Contained, Item } from "./cart.js";

/** What the server answers to the page: a result, or why there is none. */
export type Answer<R> = { kind: "done"; result: R } | Refusal;

/** Why the shop refuses something, and the field that is wrong if it is about one. */
export interface Refusal {
  kind: "refused";
  field?: keyof Item;
  message: string;
}

/** What the page begins with. `contents` is null if the cart is not open. */
export interface State {
  owner: string;
  contents: Contained | null;
}
