"""Uses a generated client in ways that mypy refuses. A comment marks each line with its error."""

from __future__ import annotations

from typing import assert_never

from tests.generated.cart import Approval, BadQuantity, Cart, CheckingOut, Item, UnknownSKU
from tests.generated.types import AllTypes, EverythingValue, Noted
from weft_client import AsyncWeft, Completed, Failed, OtherError, Rejected


async def wrong(weft: AsyncWeft, cart: Cart) -> None:
    await Cart.start(weft, "cart-1")  # wrong: call-arg
    await Cart.start(weft, "cart-1", {"owned": "ada"})  # wrong: typeddict-unknown-key
    await Cart.start(weft, "cart-1", {"owner": "ada"}, deadlin=1.0)  # wrong: call-arg
    await Approval.start(weft, "desk-1", {"owner": "ada"})  # wrong: arg-type
    await cart.add_items({"sku": "tea", "quantity": 1})  # wrong: attr-defined
    await cart.add_item({"sku": "tea", "quantiy": 1})  # wrong: typeddict-unknown-key
    await cart.add_item({"sku": "tea"})  # wrong: typeddict-item
    await cart.add_item({"sku": "tea", "quantity": "1"})  # wrong: typeddict-item
    await cart.add_item("tea")  # wrong: arg-type
    await cart.add_item({"sku": "tea", "quantity": 1}, timeouts=1)  # wrong: call-arg
    await cart.note(1)  # wrong: arg-type
    await cart.note("x", timeout=1)  # wrong: call-arg
    await Cart.start(weft, "cart-1", {"owner": "ada"}, retry_policy={"maximum_attempts": 3})
    await Cart.start(weft, "cart-1", {"owner": "ada"}, retry_policy={"maximum_attemps": 3})  # wrong: typeddict-unknown-key
    await Cart.start(weft, "cart-1", {"owner": "ada"}, retry_policy={"maximum_attempts": "3"})  # wrong: typeddict-item
    await Cart.start(weft, "cart-1", {"owner": "ada"}, id_conflict_policy="use")  # wrong: arg-type
    await Cart.start(weft, "cart-1", {"owner": "ada"}, notify=[{"url": "https://hooks.example.com", "result": True}, {"event_bridge": True}])
    await Cart.start(weft, "cart-1", {"owner": "ada"}, notify=[{"uri": "https://hooks.example.com"}])  # wrong: typeddict-unknown-key
    (await cart.cart()).stage  # wrong: attr-defined
    (await cart.cart()).result["totals"]  # wrong: typeddict-item
    (await cart.cart()).result["lines"][0]  # wrong: index
    added = await cart.add_item({"sku": "tea", "quantity": 1})
    added.result  # wrong: union-attr
    if added.stage == "rejected":
        if isinstance(added.error, UnknownSKU):
            added.error.details["sku"].upper()
            added.error.details["skus"]  # wrong: typeddict-item
        added.error.details  # wrong: union-attr
    elif added.stage == "completed":
        added.result["items"] + added.result["cents"]
        added.result["price"]  # wrong: typeddict-item
    ended = await cart.result()
    ended.result  # wrong: union-attr
    if ended.status == "completed":
        ended.result["parcel"].upper()
        ended.result["parcels"]  # wrong: typeddict-item
    item: Item = {"sku": "tea", "quantity": 1, "colour": "red"}  # wrong: typeddict-unknown-key


async def branches(cart: Cart) -> str:
    added = await cart.add_item({"sku": "tea", "quantity": 1})
    match added:
        case Completed(result=total):
            return f"{total['cents']}"
        case Rejected(error=error) | Failed(error=error):
            match error:
                case BadQuantity() | CheckingOut():
                    return error.message
                case UnknownSKU():
                    return error.details["sku"]
                case OtherError(message=message):
                    return message
                case _:
                    assert_never(error)
        case _:
            assert_never(added)


async def forgotten(cart: Cart) -> str:
    added = await cart.add_item({"sku": "tea", "quantity": 1})
    match added:
        case Completed(result=total):
            return f"{total['cents']}"
        case Rejected(error=error):
            match error:
                case BadQuantity() | UnknownSKU() | OtherError():
                    return error.message
                case _:
                    assert_never(error)  # wrong: arg-type
        case _:
            assert_never(added)  # wrong: arg-type


async def values(all: EverythingValue, types: AllTypes) -> None:
    all["nullable"].upper()  # wrong: union-attr
    all["level"] = "higher"  # wrong: typeddict-item
    all["prices"] = {"tea": "4.50"}  # wrong: dict-item
    shape = all["shape"]
    if not isinstance(shape, list) and shape["kind"] == "circle":
        shape["radius"].is_integer()
        shape["side"]  # wrong: typeddict-item
    async for page in types.progress(from_offset=3):
        page.items[0].value["name"].upper()
        page.items[0].value["names"]  # wrong: typeddict-item
    types.progres()  # wrong: attr-defined
    types.progress(from_ofset=3)  # wrong: call-arg
    await types.same("x")  # wrong: call-arg


async def starts(weft: AsyncWeft, all: EverythingValue) -> None:
    await AllTypes.start(weft, "a", all, search_attributes={"Region": {"keyword": "eu"}, "Amount": {"int": 1}}, memo={"customer": {"name": "Ada"}})
    await AllTypes.start(weft, "a", all, search_attributes={"Regoin": {"keyword": "eu"}})  # wrong: typeddict-unknown-key
    await AllTypes.start(weft, "a", all, search_attributes={"Amount": {"keyword": "1"}})  # wrong: typeddict-item
    await AllTypes.run(weft, "a", all, search_attributes={"Amount": {"int": "1"}})  # wrong: typeddict-item
    AllTypes.with_start(all, memo={"costumer": {"name": "Ada"}})  # wrong: typeddict-unknown-key
    AllTypes.with_start(all, memo={"customer": "Ada"})  # wrong: typeddict-item
    AllTypes.with_start(all, memos={})  # wrong: call-arg
    await Noted.start(weft, "a", None, memo={"note": "x"}, search_attributes={"Any": {"int": 1}})
    await Noted.start(weft, "a", None, memo={"notes": "x"})  # wrong: typeddict-unknown-key
    await Cart.start(weft, "a", {"owner": "ada"}, memo={"note": "x"}, search_attributes={"Region": {"keyword": "eu"}})
