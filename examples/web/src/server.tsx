import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import { renderToString } from "react-dom/server";
import { Problem, type Weft } from "weft-client";

import type { Answer, Refusal, State } from "./answers.js";
import { Cart, type Contained, type Item, type Receipt } from "./cart.js";
import { Shop } from "./shop.js";

/** How long a request may take. Until then the client repeats what got no answer. */
const patience = 30_000;

/** Returns the server of the shop. `assets` is the folder of the script of the page. */
export function createShop(weft: Weft, assets: string): Express {
  const app = express();
  app.disable("x-powered-by");
  app.use("/assets", express.static(assets));
  app.use(express.json());
  const cartOf = (owner: string): Cart => new Cart(weft, `cart-${owner}`);
  const deadline = (): number => Date.now() + patience;

  app.get("/:owner", async ({ params: { owner } }, response) => {
    response.send(documentOf({ owner, contents: await contentsOf(cartOf(owner)) }));
  });

  app.get("/:owner/cart", async ({ params: { owner } }, response: Response<Contained | null>) => {
    response.json(await contentsOf(cartOf(owner)));
  });

  // The first item opens the cart. Weft holds the body against the contract.
  app.post("/:owner/items", async ({ params: { owner }, body }, response: Response<Answer<null>>) => {
    const added = await cartOf(owner).addItem(body as Item, { start: Cart.withStart({ owner }), deadline: deadline() });
    if (added.stage === "completed") {
      response.json({ kind: "done", result: null });
      return;
    }
    switch (added.error.type) {
      case "badQuantity":
        return refuse(response, added.error.message, "quantity");
      case "unknownSKU":
        return refuse(response, added.error.message, "sku");
      default:
        return refuse(response, added.error.message);
    }
  });

  app.post("/:owner/checkout", async ({ params: { owner } }, response: Response<Answer<Receipt>>) => {
    const bought = await cartOf(owner).checkout({ deadline: deadline() });
    if (bought.stage === "completed") {
      response.json({ kind: "done", result: bought.result });
      return;
    }
    refuse(response, bought.error.message);
  });

  const problem: ErrorRequestHandler = (error, _request, response, next) => {
    if (!(error instanceof Problem)) {
      next(error);
      return;
    }
    response.status(error.status).json({ kind: "refused", message: error.detail } satisfies Refusal);
  };
  app.use(problem);
  return app;
}

function refuse(response: Response<Refusal>, message: string, field?: keyof Item): void {
  response.status(422).json({ kind: "refused", field, message });
}

/** Returns what is in a cart, or null if it is not open. */
async function contentsOf(cart: Cart): Promise<Contained | null> {
  try {
    return (await cart.cart()).result;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) {
      return null;
    }
    throw error;
  }
}

function documentOf(state: State): string {
  const json = JSON.stringify(state).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="icon" href="data:,">
<main id="shop">${renderToString(<Shop {...state} />)}</main>
<script id="state" type="application/json">${json}</script>
<script type="module" src="/assets/page.js"></script>
</html>
`;
}
