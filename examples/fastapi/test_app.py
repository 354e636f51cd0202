"""Tests of the service, against the local server."""

import os
import unittest

from app import app, lifespan
from httpx import ASGITransport, AsyncClient
from tests.server import Server


class AppTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        os.environ["WEFT_URL"] = self.enterContext(Server()).url
        await self.enterAsyncContext(lifespan(app))
        self.shop = await self.enterAsyncContext(AsyncClient(transport=ASGITransport(app), base_url="http://shop.test"))

    async def test_cart(self) -> None:
        self.assertEqual((await self.shop.get("/carts/ada")).status_code, 404)
        tea = {"sku": "tea", "quantity": 2}
        for _ in range(2):  # the second time is a repetition
            added = await self.shop.post("/carts/ada/items", json=tea, headers={"Idempotency-Key": "add-1"})
            self.assertEqual((added.status_code, added.json()), (200, {"items": 2, "cents": 900}))
        self.assertEqual((await self.shop.get("/carts/ada")).json()["lines"], [tea])

        bought = await self.shop.post("/carts/ada/checkout", headers={"Idempotency-Key": "buy-1"})
        self.assertEqual((bought.status_code, bought.json()["cents"]), (200, 900))
        self.assertEqual((await self.shop.post("/carts/ada/checkout", headers={"Idempotency-Key": "buy-1"})).json(), bought.json())

    async def test_a_refused_item_names_its_field(self) -> None:
        for item, field, kind, message in (
            ({"sku": "tea", "quantity": 100}, "quantity", "badQuantity", "the quantity must be between 1 and 99"),
            ({"sku": "gold", "quantity": 1}, "sku", "unknownSKU", "there is no such sku: we sell tea, coffee, cup and kettle"),
            ({"sku": "tea", "quantity": "many"}, "quantity", "int_parsing", None),  # FastAPI refuses it
            ({"sku": "tea"}, "quantity", "missing", None),
        ):
            with self.subTest(item):
                refused = await self.shop.post("/carts/ada/items", json=item)
                self.assertEqual(refused.status_code, 422)
                (detail,) = refused.json()["detail"]
                self.assertEqual((detail["loc"], detail["type"]), (["body", field], kind))
                self.assertIn(message, (detail["msg"], None))

    async def test_a_checkout_fails(self) -> None:
        await self.shop.post("/carts/mallory/items", json={"sku": "tea", "quantity": 1})
        declined = await self.shop.post("/carts/mallory/checkout")
        self.assertEqual((declined.status_code, declined.json()), (409, {"detail": "the card was declined"}))

    async def test_the_document_has_the_types_of_the_contract(self) -> None:
        schemas = (await self.shop.get("/openapi.json")).json()["components"]["schemas"]
        self.assertEqual(set(schemas["Total"]["required"]), {"items", "cents"})
        self.assertEqual(schemas["Contained"]["properties"]["total"], {"$ref": "#/components/schemas/Total"})
