"""Tests of the client, with answers that a test gives."""

from __future__ import annotations

import base64
import json
import time
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from unittest import mock

import httpx
from weft_client import (
    AsyncWeft,
    Cost,
    DeadlinePassed,
    DeclaredError,
    Failed,
    NoAnswer,
    OtherError,
    Problem,
    RunFailed,
    UnexpectedAnswer,
    Weft,
)
from weft_client import _core as core

Answers = list[Callable[[], httpx.Response]]


@dataclass
class Asked:
    method: str
    url: str
    body: Any
    timeout: float
    waited: str | None


class Answering:
    """A client whose answers these are. Their costs are 1 write, 10 writes and so on."""

    def __init__(self, *answers: Callable[[], httpx.Response]) -> None:
        self.asked: list[Asked] = []
        self.pauses: list[float] = []
        left = list(answers)

        def handle(request: httpx.Request) -> httpx.Response:
            body = json.loads(request.content) if request.content else None
            self.asked.append(Asked(request.method, str(request.url).removeprefix("http://weft.test/v1/workflows/"), body, request.extensions["timeout"]["read"], request.headers.get("Weft-Waited")))
            answer = left.pop(0)()
            answer.headers["Weft-Cost"] = f"writes={10 ** (len(self.asked) - 1)}, reads=2, messages=0, lost=1, blobPuts=1, blobGets=0, other=9"
            return answer

        self.weft = Weft("http://weft.test/", headers={"Authorization": "Bearer secret"}, http=httpx.Client(transport=httpx.MockTransport(handle)), pause=self.pauses.append)


def says(body: object, status: int = 200) -> Callable[[], httpx.Response]:
    return lambda: httpx.Response(status, json=body)


def problem(status: int, kind: str, **headers: str) -> Callable[[], httpx.Response]:
    body = {"type": f"urn:weft:problem:{kind}", "title": "t", "detail": "d", "status": status, "at": "input.quantity", "known": ["a"]}
    return lambda: httpx.Response(status, json=body, headers=headers)


def lost() -> httpx.Response:
    raise httpx.ReadError("the line is dead")


PLACE = {"updateId": "u", "runId": "r"}
COST_OF_THREE = Cost(writes=111, reads=6, lost=3, blob_puts=3)


class CallTest(unittest.TestCase):
    def test_a_cost_is_the_sum_of_all_attempts_and_polls(self) -> None:
        client = Answering(problem(503, "busy"), says({**PLACE, "stage": "accepted"}), says({**PLACE, "stage": "completed", "result": 1}))
        self.assertEqual(client.weft.call("a", "b").cost, COST_OF_THREE)
        refused = Answering(problem(503, "busy"), problem(503, "outcome-unknown"), problem(404, "not-found"))
        with self.assertRaises(Problem) as raised:
            refused.weft.query("a", "b")
        self.assertEqual(raised.exception.cost, COST_OF_THREE)
        self.assertEqual((raised.exception.at, raised.exception.known), ("input.quantity", ["a"]))

    def test_a_request_is_repeated_unchanged(self) -> None:
        def gateway() -> httpx.Response:
            return httpx.Response(502, text="<html>bad gateway</html>")

        client = Answering(lost, problem(503, "busy", **{"Retry-After": "7"}), gateway, says({**PLACE, "stage": "completed", "result": 1}))
        completed = client.weft.call("a/b", "c?d", {"e": 1})
        self.assertEqual(completed.stage, "completed")
        self.assertEqual({json.dumps(asked.body) for asked in client.asked}, {json.dumps(client.asked[0].body)})
        self.assertEqual(client.asked[0].url, "a%2Fb/updates/c%3Fd")
        self.assertEqual(client.pauses[1], 7)
        for pause, most in zip(client.pauses[::2], (0.05, 0.2), strict=True):
            self.assertTrue(most / 2 <= pause <= most, client.pauses)

    def test_after_twelve_attempts_the_last_error_is_raised(self) -> None:
        for fault, error in ((lost, NoAnswer), (problem(503, "busy"), Problem)):
            client = Answering(*[fault] * 20)
            with self.assertRaises(error):
                client.weft.start("a", "b")
            self.assertEqual(len(client.asked), 12)

    def test_a_call_pauses_as_the_answers_say(self) -> None:
        accepted = {**PLACE, "stage": "accepted", "retryAfter": "1m10.5s"}
        client = Answering(says(accepted, 202), says({**accepted, "retryAfter": "2h0m0s"}, 202), says({**accepted, "retryAfter": "soon"}, 202), says({**PLACE, "stage": "completed", "result": 1}))
        self.assertEqual(client.weft.call("a", "b").stage, "completed")
        self.assertEqual(client.pauses[2], 0.05)
        self.assertTrue(63.45 <= client.pauses[0] <= 77.55, client.pauses)
        self.assertTrue(270 <= client.pauses[1] <= 300, client.pauses)
        waited = [asked.waited for asked in client.asked]
        self.assertEqual(waited[0], None)
        for i, text in enumerate(waited[1:], 1):
            self.assertGreaterEqual(int(str(text).removesuffix("ms")) + 1, int(sum(client.pauses[:i]) * 1000), waited)

    def test_a_call_that_waits_outlives_refusals(self) -> None:
        for full in (problem(503, "busy"), lambda: httpx.Response(429, json={"message": "Too Many Requests"})):
            client = Answering(*[full] * 100, says({"workflowId": "a", "runId": "r", "status": "completed", "result": 1}))
            self.assertEqual(client.weft.result("a").status, "completed")
            self.assertTrue(30 <= max(client.pauses) <= 60, client.pauses)

    def test_what_is_not_wefts(self) -> None:
        for text in ("<html>sign in</html>", "", "{}", "null", "[]", '{"stage":"done"}'):
            asks: list[Callable[[Weft], object]] = [
                lambda weft: weft.call("a", "b"), lambda weft: weft.start("a", "b"), lambda weft: weft.result("a"), lambda weft: weft.query("a", "b")
            ]  # fmt: skip
            for ask in asks:
                with self.assertRaises(UnexpectedAnswer):
                    ask(Answering(lambda: httpx.Response(200, text=text)).weft)
        for status, kind in ((400, "internal"), (401, "forbidden"), (404, "internal"), (302, "internal")):
            with self.assertRaises(Problem) as raised:
                Answering(lambda: httpx.Response(status, text="<html>no</html>")).weft.start("a", "b")
            self.assertEqual((raised.exception.type, raised.exception.status), ("urn:weft:problem:" + kind, status))

    def test_an_input_is_null_or_absent(self) -> None:
        for given, want in (((), {}), ((None,), {"input": None}), (([1],), {"input": [1]})):
            client = Answering(says({"result": 1}))
            client.weft.query("a", "b", *given)
            self.assertEqual(client.asked[0].body, want)

    def test_the_options_of_a_start(self) -> None:
        client = Answering(says({"workflowId": "a", "runId": "r"}))
        client.weft.start(
            "a", "b", request_id="i", run_timeout=1.5, search_attributes={"Region": {"keyword": "eu"}}, id_reuse_policy="rejectDuplicate", deadline=time.time() + 9,
            retry_policy={"initial_interval": 0.5, "maximum_attempts": 3, "non_retryable_error_types": ["declined"]},
            notify=[{"url": "https://a.example", "result": True}, {"event_bridge": True}],
        )  # fmt: skip
        want = {
            "workflowId": "a", "type": "b", "requestId": "i", "runTimeout": "1500ms", "searchAttributes": {"Region": {"keyword": "eu"}}, "idReusePolicy": "rejectDuplicate",
            "retryPolicy": {"initialInterval": "500ms", "maximumAttempts": 3, "nonRetryableErrorTypes": ["declined"]},
            "notify": [{"url": "https://a.example", "result": True}, {"eventBridge": True}],
        }  # fmt: skip
        self.assertEqual(client.asked[0].body, want)

    def test_errors(self) -> None:
        class Declined(DeclaredError[dict[str, object]]):
            type = "declined"

        details = base64.b64encode('{"fee":7,"why":"é"}'.encode()).decode()
        failure: Any = {"kind": "activity", "cause": {"kind": "application", "type": "declined", "message": "no", "details": details}}
        self.assertEqual(core.error_of(failure, (Declined,)), Declined("no", {"fee": 7, "why": "é"}))
        self.assertEqual(core.error_of(failure, ()), OtherError("no"))
        self.assertEqual(core.error_of({"kind": "activity"}, ()), OtherError("activity"))
        failed = Answering(says({**PLACE, "stage": "completed", "failure": failure})).weft.call("a", "b")
        assert isinstance(failed, Failed)
        self.assertEqual(failed.failure, failure)

    def test_a_wait_follows_the_run(self) -> None:
        client = Answering(
            says({"workflowId": "a", "runId": "1", "status": "running"}),
            says({"workflowId": "a", "runId": "1", "status": "continuedAsNew", "newRunId": "2"}),
            says({"workflowId": "a", "runId": "2", "status": "failed", "failure": {"kind": "application"}}),
        )
        ended = client.weft.result("a")
        assert isinstance(ended, RunFailed)
        self.assertEqual((ended.status, ended.run_id, ended.cost), ("failed", "2", COST_OF_THREE))
        self.assertEqual([a.url for a in client.asked], ["a/result?wait=20000ms", "a/result?runId=1&wait=20000ms", "a/result?runId=2&wait=20000ms"])

    def test_watch(self) -> None:
        def at(run: str, next_: int, ids: list[int], **more: object) -> Callable[[], httpx.Response]:
            return says({"workflowId": "a", "runId": run, "events": [{"id": i} for i in ids], "next": next_, "closed": False, **more})

        client = Answering(
            at("1", 3, [1, 2]), problem(503, "busy"), at("1", 3, []), at("1", 4, [3], closed=True, newRunId="2"), at("2", 2, [1]), at("2", 2, [], closed=True)
        )
        seen = [(page.run_id, [event["id"] for event in page.events], page.cost.reads) for page in client.weft.watch("a")]
        self.assertEqual(seen, [("1", [1, 2], 2), ("1", [3], 6), ("2", [1], 2), ("2", [], 2)])
        self.assertEqual(client.asked[-1].url, "a/history?runId=2&from=2&wait=20000ms")

        resumed = Answering(at("1", 4, [], closed=True, newRunId="2"), at("2", 2, [1], closed=True))
        self.assertEqual([(page.run_id, page.cost.reads) for page in resumed.weft.watch("a", run_id="1", from_event=4)], [("2", 4)])

    def test_topic(self) -> None:
        def at(run: str, next_: int, offsets: list[int], **more: object) -> Callable[[], httpx.Response]:
            items = [{"offset": offset, "at": "2026-11-27T21:00:00Z", "value": f"item {offset}"} for offset in offsets]
            return says({"workflowId": "a", "runId": run, "topic": "t", "items": items, "first": 0, "next": next_, "closed": False, **more})

        client = Answering(
            at("1", 2, [0, 1]), lost, at("1", 2, []), at("1", 5, [], withdrawn={"from": 1, "before": 5}), at("1", 6, [5], closed=True, newRunId="2"),
            lost, at("2", 8, [6, 7], more=True), at("2", 8, []), at("2", 9, [8]), at("2", 9, [], closed=True),
        )  # fmt: skip
        seen = [(page.run_id, [item.offset for item in page.items], page.withdrawn, page.cost.reads) for page in client.weft.topic("a", "t/1", limit=2)]
        self.assertEqual(seen, [("1", [0, 1], None, 2), ("1", [], (1, 5), 4), ("1", [5], None, 2), ("2", [6, 7], None, 2), ("2", [8], None, 4), ("2", [], None, 2)])
        self.assertEqual(
            [asked.url.removeprefix("a/topics/t%2F1?") for asked in client.asked],
            ["limit=2"] + ["runId=1&from=2&limit=2&wait=20000ms"] * 3 + ["runId=1&from=5&limit=2&wait=20000ms"]
            + ["runId=2&from=6&limit=2"] * 2 + ["runId=2&from=8&limit=2"] + ["runId=2&from=8&limit=2&wait=20000ms"] + ["runId=2&from=9&limit=2&wait=20000ms"],
        )  # fmt: skip

        there = Answering(at("1", 2, [0, 1], more=True), at("1", 3, [2]))
        self.assertEqual([item.offset for page in there.weft.topic("a", "t", from_offset=0, wait=False) for item in page.items], [0, 1, 2])
        self.assertEqual([asked.url for asked in there.asked], ["a/topics/t?from=0", "a/topics/t?runId=1&from=2"])

    def test_a_page_has_the_cost_of_the_empty_ones_before_it(self) -> None:
        def at(run: str, next_: int, offsets: list[int], **more: object) -> Callable[[], httpx.Response]:
            items = [{"offset": offset, "at": "2026-11-27T21:00:00Z", "value": None} for offset in offsets]
            return says({"workflowId": "a", "runId": run, "topic": "t", "items": items, "first": 0, "next": next_, "closed": False, **more})

        client = Answering(at("1", 0, []), at("1", 0, [], closed=True, newRunId="2"), at("2", 0, [], more=True), at("2", 1, [0], closed=True))
        self.assertEqual([page.cost.writes for page in client.weft.topic("a", "t")], [1111])
        nothing = Answering(at("1", 7, []))
        self.assertEqual([(page.items, page.next, page.cost.writes) for page in nothing.weft.topic("a", "t", from_offset=7, wait=False)], [([], 7, 1)])
        gone = Answering(at("1", 0, []), at("1", 0, [], closed=True, newRunId="2"), problem(404, "not-found"))
        with self.assertRaises(Problem) as raised:
            list(gone.weft.topic("a", "t"))
        self.assertEqual(raised.exception.cost, COST_OF_THREE)

    def test_each_error_has_the_cost_until_then(self) -> None:
        client = Answering(problem(503, "busy"), *[lost] * 11)
        with self.assertRaises(NoAnswer) as unanswered:
            client.weft.start("a", "b")
        self.assertEqual(unanswered.exception.cost.writes, 1)
        for body in ({"unknown": True}, {"updateId": "u", "stage": "completed"}):
            with self.assertRaises(UnexpectedAnswer) as unexpected:
                Answering(problem(503, "busy"), says(body)).weft.call("a", "b")
            self.assertEqual(unexpected.exception.cost.writes, 11)

    def test_send(self) -> None:
        client = Answering(says({**PLACE, "stage": "accepted", "started": True}), says({**PLACE, "stage": "rejected", "failure": {"kind": "application"}}, 422))
        accepted = client.weft.send("a", "b", id="i")
        self.assertEqual((accepted.stage, accepted.started, client.asked[0].body), ("accepted", True, {"updateId": "i", "waitFor": "accepted"}))
        self.assertEqual(client.weft.send("a", "b").stage, "rejected")
        would_start = Answering(says({"updateId": "u", "stage": "rejected", "failure": {"kind": "application", "message": "no"}}, 422))
        rejected = would_start.weft.call("a", "b")
        assert rejected.stage == "rejected"
        self.assertEqual((rejected.run_id, rejected.error, rejected.at, rejected.known), (None, OtherError("no"), None, ()))

    def test_a_rejected_update_has_the_place_and_the_names(self) -> None:
        refused = {**PLACE, "stage": "rejected", "failure": {"kind": "application"}}
        client = Answering(says({**refused, "at": "input.sku"}, 422), says({**refused, "known": ["addItem"]}, 422))
        wrong, unknown = client.weft.call("a", "b"), client.weft.call("a", "b")
        assert wrong.stage == "rejected" and unknown.stage == "rejected"
        self.assertEqual((wrong.at, unknown.known), ("input.sku", ("addItem",)))


class DeadlineTest(unittest.TestCase):
    def test_a_deadline_bounds_the_request_and_the_repetitions(self) -> None:
        client = Answering(*[problem(503, "busy")] * 30, says({**PLACE, "stage": "completed"}))
        client.weft.call("a", "b", deadline=time.time() + 1_000_000)
        self.assertEqual(len(client.asked), 31)
        self.assertEqual(client.asked[0].body["timeout"], "20000ms")

        soon = Answering(says({"workflowId": "a", "runId": "r", "status": "completed", "result": 1}))
        soon.weft.result("a", deadline=datetime.fromtimestamp(time.time() + 10, timezone.utc))
        wait = int(soon.asked[0].url.removeprefix("a/result?wait=").removesuffix("ms"))
        self.assertTrue(0 < wait <= 9_500, wait)
        self.assertLessEqual(soon.asked[0].timeout, 10)

        kept = Answering(says({**PLACE, "stage": "completed"}))
        kept.weft.call("a", "b", timeout=3, deadline=time.time() + 1_000_000)
        self.assertEqual(kept.asked[0].body["timeout"], "3000ms")

    def test_at_the_deadline_a_call_raises_why_it_failed_so_far(self) -> None:
        late = Answering()
        with self.assertRaises(DeadlinePassed) as raised:
            late.weft.query("a", "b", deadline=time.time() - 1)
        self.assertIsNone(raised.exception.__cause__)
        self.assertEqual(late.asked, [])

        now = 1000.0

        def pause(seconds: float) -> None:
            nonlocal now
            now += seconds

        client = Answering(*[problem(503, "busy")] * 1000)
        client.weft._pause = pause
        with mock.patch.object(core, "time", lambda: now), self.assertRaises(TimeoutError) as timed_out:
            client.weft.start("a", "b", deadline=1010.0)
        assert isinstance(timed_out.exception.__cause__, Problem) and isinstance(timed_out.exception, DeadlinePassed)
        self.assertEqual(timed_out.exception.cost.reads, 2 * len(client.asked))
        self.assertEqual(now, 1010.0)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_both_clients_send_the_same(self) -> None:
        sent: list[list[tuple[str, str, bytes]]] = []

        def recording(answers: list[Callable[[], httpx.Response]]) -> httpx.MockTransport:
            log: list[tuple[str, str, bytes]] = []
            sent.append(log)

            def handle(request: httpx.Request) -> httpx.Response:
                log.append((request.method, str(request.url), request.content))
                return answers.pop(0)()

            return httpx.MockTransport(handle)

        def script() -> list[Callable[[], httpx.Response]]:
            run = {"workflowId": "a", "runId": "r"}
            ended = {**run, "status": "completed", "result": 1}
            return [
                says(run), says({**run, "outcome": ended}), says({}), says({"result": 1}), says({**PLACE, "stage": "completed"}),
                says({**PLACE, "stage": "accepted"}), says({**PLACE, "stage": "completed"}), says(ended), says({**run, "events": [{}], "next": 2, "closed": True}),
                says({**run, "items": [{"offset": 0, "at": "", "value": 1}], "next": 1, "closed": True}),
                says({"origin": "https://a.example", "secrets": ["whsec_AAAA"]}),
            ]  # fmt: skip

        blocking = Weft("http://weft.test", http=httpx.Client(transport=recording(script())))
        blocking.start("a", "b", 1, request_id="i")
        blocking.run("a", "b", 1, request_id="i")
        blocking.signal("a", "b", 1, id="i")
        blocking.query("a", "b", 1)
        blocking.call("a", "b", 1, id="i")
        blocking.send("a", "b", 1, id="i")
        blocking.outcome("a", "u")
        blocking.result("a")
        self.assertEqual([page.next for page in blocking.watch("a")], [2])
        self.assertEqual([page.items[0].value for page in blocking.topic("a", "t")], [1])
        self.assertEqual(blocking.webhook_secret("https://a.example/x").secrets, ("whsec_AAAA",))
        weft = AsyncWeft("http://weft.test", http=httpx.AsyncClient(transport=recording(script())))
        await weft.start("a", "b", 1, request_id="i")
        await weft.run("a", "b", 1, request_id="i")
        await weft.signal("a", "b", 1, id="i")
        await weft.query("a", "b", 1)
        await weft.call("a", "b", 1, id="i")
        await weft.send("a", "b", 1, id="i")
        await weft.outcome("a", "u")
        await weft.result("a")
        self.assertEqual([page.next async for page in weft.watch("a")], [2])
        self.assertEqual([page.items[0].value async for page in weft.topic("a", "t")], [1])
        self.assertEqual((await weft.webhook_secret("https://a.example/x")).secrets, ("whsec_AAAA",))
        self.assertEqual(sent[0], sent[1])
        self.assertEqual(len(sent[0]), 11)
