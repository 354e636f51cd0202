import { hydrateRoot } from "react-dom/client";

import type { State } from "./answers.js";
import { Shop } from "./shop.js";

/** The part of the page that the server has rendered comes to life. */
const state = JSON.parse(document.getElementById("state")!.textContent!) as State;
hydrateRoot(document.getElementById("shop")!, <Shop {...state} />);
