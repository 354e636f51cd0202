"""Tests of receivers of notifications."""

from __future__ import annotations

import threading
import unittest
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import httpx
from weft_client import InvalidWebhook, Problem, RunCompleted, UnexpectedAnswer, Weft, verify_webhook

from .server import Server

# The vector of the libraries of Standard Webhooks.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
NOW = 1614265330
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


class VerifyTest(unittest.TestCase):
    def test_the_vector_of_standard_webhooks(self) -> None:
        others = {**HEADERS, "webhook-signature": f"v1,AAAA v1a,x! é {HEADERS['webhook-signature']}"}
        cases: list[tuple[Any, Any, bytes | str, datetime | float]] = [
            (SECRET, HEADERS, BODY, NOW), (SECRET.removeprefix("whsec_"), HEADERS, BODY.decode(), NOW), (["whsec_AAAA", SECRET], HEADERS, BODY, NOW),
            (SECRET, httpx.Headers(HEADERS), BODY, datetime.fromtimestamp(NOW, timezone.utc)), (SECRET, {k.title(): v for k, v in HEADERS.items()}, BODY, NOW),
            (SECRET, {**HEADERS, "webhook-signature": "v1,AAAA " * 15 + HEADERS["webhook-signature"]}, BODY, NOW),
            (SECRET, others, BODY, NOW), (SECRET, HEADERS, BODY, NOW - 300), (SECRET, HEADERS, BODY, NOW + 300.5),
        ]  # fmt: skip
        for case in cases:
            self.assertEqual(verify_webhook(*case), {"test": 2432232314}, case)

    def test_what_is_refused(self) -> None:
        def changed(name: str, value: str) -> dict[str, str]:
            return {**HEADERS, f"webhook-{name}": value}

        signature = HEADERS["webhook-signature"]
        cases: list[tuple[Any, Any, bytes | str, float, str]] = [
            ("whsec_AAAA", HEADERS, BODY, NOW, "not signed with this secret"), ([], HEADERS, BODY, NOW, "not signed with this secret"),
            (SECRET, HEADERS, BODY + b" ", NOW, "changed on the way"), (SECRET, HEADERS, "", NOW, "changed on the way"),
            (SECRET, changed("id", "msg_1"), BODY, NOW, "changed on the way"), (SECRET, changed("timestamp", "1614265331"), BODY, NOW, "changed on the way"),
            (SECRET, changed("signature", signature.replace("v1", "v1a")), BODY, NOW, "changed on the way"),
            (SECRET, changed("signature", signature[:20]), BODY, NOW, "changed on the way"),
            (SECRET, HEADERS, BODY, NOW + 301, "clock is wrong"), (SECRET, HEADERS, BODY, NOW - 301, "clock is wrong"),
            (SECRET, changed("timestamp", "1614265330.5"), BODY, NOW, "no number"), (SECRET, changed("timestamp", "9" * 5000), BODY, NOW, "no number"),
            (SECRET, changed("signature", "v1,AAAA " * 16 + signature), BODY, NOW, "more than 16 signatures"),
            (SECRET, changed("id", b"a\xff".decode("utf-8", "surrogateescape")), BODY, NOW, "webhook-id is not the value"),
            (SECRET, changed("timestamp", "\ud8001"), BODY, NOW, "webhook-timestamp is not the value"),
            (SECRET, changed("signature", b"v1,\xff".decode("utf-8", "surrogateescape")), BODY, NOW, "webhook-signature is not the value"),
            (SECRET, changed("signature", signature + " \udcff"), BODY, NOW, "webhook-signature is not the value"),
            (SECRET, {**HEADERS, "webhook-id": b"a"}, BODY, NOW, "webhook-id is not the value"), (SECRET, {**HEADERS, "webhook-id": ["a"]}, BODY, NOW, "is not the value"),
            (SECRET, {**HEADERS, "webhook-id": None}, BODY, NOW, "lacks one of"), (SECRET, changed("id", "a\0\n\x7f é"), BODY, NOW, "changed on the way"),
            (SECRET, changed("timestamp", "\u0661614265330"), BODY, NOW, "no number"), (SECRET, changed("timestamp", "1614265330\n"), BODY, NOW, "no number"),
            (SECRET, HEADERS, "\udcff", NOW, "not a text in UTF-8"), (SECRET, HEADERS, b"\xff", NOW, "changed on the way"),
            (SECRET, changed("id", ""), BODY, NOW, "lacks one of"), (SECRET, {"webhook-id": "a"}, BODY, NOW, "lacks one of"), (SECRET, {}, BODY, NOW, "lacks one of"),
        ]  # fmt: skip
        for secret, headers, body, now, want in cases:
            with self.assertRaisesRegex(InvalidWebhook, want):
                verify_webhook(secret, headers, body, now)
        for wrong in ("", "whsec_", "whsec_hunter2!"):
            with self.assertRaises(ValueError) as raised:
                verify_webhook(wrong, HEADERS, BODY, NOW)
            self.assertNotIn("hunter2", str(raised.exception))

    def test_an_answer_without_secrets_is_none(self) -> None:
        answers = httpx.MockTransport(lambda _: httpx.Response(200, json={"origin": "https://a.example", "secrets": []}))
        with self.assertRaises(UnexpectedAnswer):
            Weft("http://weft.test", http=httpx.Client(transport=answers)).webhook_secret("https://a.example")


class Receiver(BaseHTTPRequestHandler):
    """Gets notifications."""

    got: Queue[tuple[dict[str, str], bytes]] = Queue()

    def do_POST(self) -> None:
        self.got.put((dict(self.headers.items()), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class NotifyTest(unittest.TestCase):
    def test_a_receiver_verifies_that_a_run_has_ended(self) -> None:
        receiver = HTTPServer(("127.0.0.1", 0), Receiver)
        serving = threading.Thread(target=receiver.serve_forever)
        serving.start()
        try:
            with Server() as server, Weft(server.url) as weft:
                self._notified(weft, f"http://127.0.0.1:{receiver.server_port}")
        finally:
            receiver.shutdown()
            serving.join()
            receiver.server_close()

    def _notified(self, weft: Weft, origin: str) -> None:
        signing = weft.webhook_secret(origin + "/endings?token=1")
        self.assertEqual((signing.origin, len(signing.secrets)), (origin, 1))
        self.assertNotIn(signing.secrets[0], repr(signing))
        run = weft.start("fanout-notify-1", "fanout", ["a"], notify=[{"url": origin + "/endings?token=1", "result": True}])
        ended = weft.result("fanout-notify-1")
        assert isinstance(ended, RunCompleted)
        headers, body = Receiver.got.get()
        ending = verify_webhook(signing.secrets, headers, body)
        self.assertEqual(ending["type"], "workflow.completed")
        lower = {name.lower(): value for name, value in headers.items()}
        self.assertEqual(
            ending["data"],
            {
                "id": lower["webhook-id"], "workflowId": "fanout-notify-1", "runId": run.run_id, "workflowType": "fanout", "status": "completed",
                "result": ended.result,
            },
        )  # fmt: skip
        with self.assertRaises(InvalidWebhook):
            verify_webhook(weft.webhook_secret("https://elsewhere.example").secrets, headers, body)
        with self.assertRaises(Problem) as refused:
            weft.start("fanout-notify-2", "fanout", ["a"], notify=[{"url": "ftp://a.example"}])
        self.assertEqual(refused.exception.at, "notify[0].url")
