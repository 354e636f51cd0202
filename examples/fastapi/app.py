"""A shop over HTTP. Its carts are workflows, so it needs no database, and may be restarted at any time.

WEFT_URL=http://127.0.0.1:8080 uvicorn app:app
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import time
from typing import Annotated

from cart import BadQuantity, Cart, Contained, Item, Receipt, Total, UnknownSKU
from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from weft_client import AsyncWeft, CallOptions, Completed, DeadlinePassed, DeclaredError, Failed, NoAnswer, Problem, Rejected

PATIENCE = 30.0
"""How many seconds a request may take. A shop that has no answer by then says so."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncWeft(os.environ.get("WEFT_URL", "http://127.0.0.1:8080")) as weft:
        app.state.weft = weft
        yield


app = FastAPI(title="Shop", lifespan=lifespan)

Key = Annotated[str | None, Header(alias="Idempotency-Key", description="A request that is repeated with its key takes effect once.")]


def cart_of(request: Request, owner: str) -> Cart:
    return Cart(request.app.state.weft, f"cart-{owner}")


@app.post("/carts/{owner}/items")
async def add_item(request: Request, owner: str, item: Item, key: Key = None) -> Total:
    """Puts an item into a cart. The first item opens the cart."""
    given = options(key)
    given["start"] = Cart.with_start({"owner": owner})
    added = await cart_of(request, owner).add_item(item, **given)
    match added:
        case Completed(result=total):
            return total
        case Rejected(error=BadQuantity() as error):
            raise wrong("quantity", error)
        case Rejected(error=UnknownSKU() as error):
            raise wrong("sku", error)
        case Rejected() | Failed():
            raise HTTPException(409, added.error.message)


@app.get("/carts/{owner}")
async def contents(request: Request, owner: str) -> Contained:
    """Returns what is in a cart."""
    return (await cart_of(request, owner).cart(deadline=time() + PATIENCE)).result


@app.post("/carts/{owner}/checkout")
async def checkout(request: Request, owner: str, key: Key = None) -> Receipt:
    """Reserves, charges and ships. If that fails, the cart is open again."""
    bought = await cart_of(request, owner).checkout(**options(key))
    match bought:
        case Completed(result=receipt):
            return receipt
        case Rejected() | Failed():
            raise HTTPException(409, bought.error.message)


def options(key: str | None) -> CallOptions:
    given: CallOptions = {"deadline": time() + PATIENCE}
    if key is not None:
        given["id"] = key
    return given


def wrong(field: str, error: DeclaredError[object]) -> HTTPException:
    """Returns a refusal of a field, in the form that FastAPI's own have."""
    return HTTPException(422, [{"loc": ["body", field], "msg": error.message, "type": error.type}])


@app.exception_handler(Problem)
async def refused(_: Request, problem: Problem) -> JSONResponse:
    return JSONResponse({"detail": problem.detail}, problem.status)


@app.exception_handler(NoAnswer)
@app.exception_handler(DeadlinePassed)
async def unavailable(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"detail": "there is no answer: repeat the request with its key"}, 503)
