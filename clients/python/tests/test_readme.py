"""The examples of the documents."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import textwrap
import time
import unittest
from pathlib import Path

import weft_client
from weft_client import Completed, Failed, Rejected, verify_webhook

from .generated.cart import Cart, Item, UnknownSKU
from .server import Server


class ReadmeTest(unittest.IsolatedAsyncioTestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server().__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.__exit__(None, None, None)

    async def test_examples(self) -> None:
        shown: list[object] = []

        def show(*what: object) -> None:
            shown.extend(what)

        def explain(why: str) -> None:
            shown.append(why)

        def AsyncWeft(_: str) -> weft_client.AsyncWeft:
            return weft_client.AsyncWeft(self.server.url)  # another process may use port 8080

        async with AsyncWeft("http://127.0.0.1:8080") as weft:
            cart = await Cart.start(weft, "cart-42", {"owner": "ada"})
            added = await cart.add_item({"sku": "tea", "quantity": 2})
            match added:
                case Completed(result=total):
                    show(total["cents"], added.cost.writes)
                case Rejected(error=UnknownSKU() as error):  # the validator refused: nothing happened
                    explain(error.message)
                case Rejected() | Failed():  # Failed: the handler returned an error
                    explain(added.error.message)

        self.assertEqual(shown[0], 900)
        async with AsyncWeft("") as weft:
            cart = await Cart.start(weft, "cart-7", {"owner": "ada"})
            added = await cart.add_item({"sku": "tea", "quantity": 2}, deadline=time.time() + 5)
            match added:
                case Completed(result=total):
                    show(total["cents"], added.cost.writes)
                case Rejected(error=UnknownSKU()):
                    explain("we do not sell that")
                case Rejected() | Failed():
                    explain(added.error.message)
            item: Item = {"sku": "coffee", "quantity": 1}
            await Cart(weft, "cart-7").add_item(item, start=Cart.with_start({"owner": "ada"}))

    def test_a_receiver(self) -> None:
        body, secret, timestamp = b'{"type":"workflow.completed","data":{"id":"weft_1_2","workflowId":"cart-42"}}', "whsec_AAAA", str(int(time.time()))
        signature = hmac.new(base64.b64decode("AAAA"), f"weft_1_2.{timestamp}.".encode() + body, hashlib.sha256).digest()
        headers = {"webhook-id": "weft_1_2", "webhook-timestamp": timestamp, "webhook-signature": "v1," + base64.b64encode(signature).decode()}
        settled: list[str] = []

        def settle(workflow_id: str) -> None:
            settled.append(workflow_id)

        def first_time(notification: str) -> bool:
            return notification == "weft_1_2"

        ending = verify_webhook(secret, headers, body)
        if ending["type"] == "workflow.completed" and first_time(ending["data"]["id"]):
            settle(ending["data"]["workflowId"])
        self.assertEqual(settled, ["cart-42"])

    def test_examples_are_here(self) -> None:
        here = re.sub(r"^ +", "", Path(__file__).read_text(encoding="utf-8"), flags=re.MULTILINE)
        for document, examples in (("README.md", 2), ("../../docs/clients.md", 2)):
            blocks = re.findall(r"```python\n(.*?)```", Path(document).read_text(encoding="utf-8"), re.DOTALL)
            self.assertEqual(len(blocks), examples, document)
            for block in blocks:
                for line in textwrap.dedent(block).splitlines():
                    self.assertIn(line.strip(), here, document)
