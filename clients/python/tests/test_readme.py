"""The examples of the documents."""

from __future__ import annotations

import re
import textwrap
import time
import unittest
from pathlib import Path

import weft_client
from weft_client import Completed, Failed, Rejected

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

    def test_examples_are_here(self) -> None:
        here = re.sub(r"^ +", "", Path(__file__).read_text(encoding="utf-8"), flags=re.MULTILINE)
        for document, examples in (("README.md", 1), ("../../docs/clients.md", 2)):
            blocks = re.findall(r"```python\n(.*?)```", Path(document).read_text(encoding="utf-8"), re.DOTALL)
            self.assertEqual(len(blocks), examples, document)
            for block in blocks:
                for line in textwrap.dedent(block).splitlines():
                    self.assertIn(line.strip(), here, document)
