"""Tests of generated clients, against the local server."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import time
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx
from weft_client import AsyncWeft, AsyncWorkflow, Completed, DeclaredError, Failed, Problem, Rejected, RunCompleted, Weft

from .generated import cart_sync, hostile
from .generated.cart import Approval, BadQuantity, Cart, Declined, UnknownSKU
from .server import Server


class GeneratedTest(unittest.IsolatedAsyncioTestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server().__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.__exit__(None, None, None)

    async def test_cart(self) -> None:
        async with AsyncWeft(self.server.url) as weft:
            cart = await Cart.start(weft, "cart-1", {"owner": "ada"})
            assert cart.started is not None and cart.started.cost.writes > 0

            added = await cart.add_item({"sku": "tea", "quantity": 2}, id="add-1")
            assert isinstance(added, Completed)
            self.assertEqual(added.result, {"items": 2, "cents": 900})
            self.assertEqual(added.update_id, "add-1")

            refused = await cart.add_item({"sku": "tea", "quantity": 100})
            assert refused.stage == "rejected" and isinstance(refused.error, BadQuantity)
            self.assertEqual(refused.error.message, "the quantity must be between 1 and 99")
            self.assertEqual(refused.cost.writes, 0)

            match await cart.add_item({"sku": "unicorn", "quantity": 1}):
                case Rejected(error=UnknownSKU() as error):
                    self.assertRegex(error.message, "no such sku")
                case other:
                    self.fail(str(other))

            self.assertGreater((await cart.note("hurry")).cost.writes, 0)
            contents = await cart.cart()
            self.assertEqual(contents.result["notes"], ["hurry"])
            self.assertEqual(contents.cost.writes, 0)

            bought = await cart.checkout(deadline=datetime.now(timezone.utc) + timedelta(minutes=1))
            assert bought.stage == "completed"
            ended = await cart.result(deadline=time.time() + 60)
            assert isinstance(ended, RunCompleted)
            self.assertEqual(ended.result, bought.result)
            again = await cart.add_item({"sku": "tea", "quantity": 2}, id="add-1")
            assert again.stage == "completed"
            self.assertEqual(again.result, added.result)

            types = [event["type"] async for page in cart.watch() for event in page.events]
            self.assertEqual((types[0], types[-1]), ("WorkflowExecutionStarted", "WorkflowExecutionCompleted"))

    async def test_failed(self) -> None:
        async with AsyncWeft(self.server.url) as weft:
            cart = Cart(weft, "cart-2")
            start = Cart.with_start({"owner": "mallory"}, memo={"note": "x"})
            first = await cart.add_item({"sku": "tea", "quantity": 1}, start=start)
            second = await cart.add_item({"sku": "tea", "quantity": 1}, start=start)
            self.assertEqual((first.started, second.started), (True, False))
            declined = await cart.checkout()
            assert isinstance(declined, Failed) and isinstance(declined.error, Declined)
            self.assertEqual(declined.failure["activityType"], "charge")

    async def test_lost_answers(self) -> None:
        lost = 0

        class Losing(httpx.AsyncHTTPTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                nonlocal lost
                answer = await super().handle_async_request(request)
                lost += 1
                if lost % 2 == 1:
                    await answer.aclose()
                    raise httpx.ReadError("the line is dead", request=request)
                return answer

        async def pause(_: float) -> None:
            await asyncio.sleep(0)

        async with httpx.AsyncClient(transport=Losing()) as http:
            weft = AsyncWeft(self.server.url, http=http, pause=pause)
            cart = await Cart.start(weft, "cart-3", {"owner": "ada"})
            for items in (1, 2):
                added = await cart.add_item({"sku": "tea", "quantity": 1})
                assert added.stage == "completed"
                self.assertEqual(added.result["items"], items)
        self.assertEqual(lost, 6)

    async def test_without_input(self) -> None:
        async with AsyncWeft(self.server.url) as weft:
            desk = await Approval.start(weft, "desk-1", None)
            handed_in = asyncio.create_task(desk.approval_hand_in({"who": "ada", "cents": 100}))
            async for page in desk.watch():
                if any(event["type"] == "WorkflowExecutionUpdateAccepted" for event in page.events):
                    break
            await desk.approval_answer({"approved": True, "why": "of course"})
            outcome = await handed_in
            assert outcome.stage == "completed"
            self.assertTrue(outcome.result["approved"])

    def test_sync(self) -> None:
        with Weft(self.server.url) as weft:
            cart = cart_sync.Cart.start(weft, "cart-4", {"owner": "ada"})
            added = cart.add_item({"sku": "tea", "quantity": 1})
            assert added.stage == "completed"
            refused = cart.checkout(deadline=time.time() + 60)
            assert refused.stage == "completed"
            ended = cart.result()
            assert ended.status == "completed"
            self.assertEqual(ended.result, refused.result)
            self.assertEqual(sum(len(page.events) for page in cart.watch()), [page.next for page in cart.watch()][-1] - 1)
            with self.assertRaises(Problem) as raised:
                cart_sync.Cart.start(weft, "a/b", {"owner": "ada"})
            self.assertEqual((raised.exception.type, raised.exception.status), ("urn:weft:problem:invalid", 400))


class HostileTest(unittest.TestCase):
    def test_no_text_of_a_contract_leaves_its_place(self) -> None:
        self.assertFalse(hasattr(sys, "pwned"))
        contract = json.loads(Path("../../internal/generate/testdata/hostile.json").read_text(encoding="utf-8"))
        classes = [value for value in vars(hostile).values() if inspect.isclass(value) and value.__module__ == hostile.__name__]
        workflows = {c.workflow_type for c in classes if issubclass(c, AsyncWorkflow)}
        self.assertEqual(workflows, set(contract["workflows"]))
        errors = {c.type for c in classes if issubclass(c, DeclaredError)}
        self.assertEqual(errors, set(contract["workflows"]["hostile"]["updates"]))
        self.assertTrue(any("import sys; sys.pwned" in (c.__doc__ or "") for c in classes))


class WrongUsesTest(unittest.TestCase):
    def test_wrong_uses_are_found(self) -> None:
        lines = Path("tests/wrong.py").read_text(encoding="utf-8").splitlines()
        want = {n: mark[1] for n, line in enumerate(lines, 1) if (mark := re.search(r"# wrong: (\S+)", line))}
        mypy = [sys.executable, "-m", "mypy", "--no-pretty", "tests/wrong.py"]
        found = subprocess.run(mypy, capture_output=True, text=True, env={**os.environ, "MYPYPATH": "src"}).stdout
        got: dict[int, set[str]] = {}
        for at in re.finditer(r"^tests/wrong\.py:(\d+): error: .*\[(\S+)\]$", found, re.MULTILINE):
            got.setdefault(int(at[1]), set()).add(at[2])
        self.assertEqual({n: want.get(n) if want.get(n) in codes else codes for n, codes in got.items()}, want, found)
