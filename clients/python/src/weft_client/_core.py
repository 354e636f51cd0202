"""The calls of the API, without input and output.

A call is a generator. It yields requests and pauses, and gets replies. Two clients drive it: one
with asyncio, and one that blocks.
"""

from __future__ import annotations

import base64
import json
import random
import re
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import time
from typing import Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from ._errors import DeadlinePassed, NoAnswer, Problem, UnexpectedAnswer, WeftError
from ._values import (
    Accepted,
    Answer,
    CallOptions,
    Completed,
    Cost,
    DeclaredError,
    Ended,
    Failed,
    Failure,
    OtherError,
    Page,
    ReadOptions,
    Rejected,
    Run,
    RunCompleted,
    RunFailed,
    Sent,
    SignalOptions,
    Start,
    StartOptions,
    TopicActivity,
    TopicItem,
    TopicOptions,
    TopicPage,
    WaitOptions,
    WatchOptions,
    WebhookSecrets,
)

T = TypeVar("T")
R = TypeVar("R", covariant=True)

ATTEMPTS: Final = 12
"""How often a request without a deadline is sent at most.

That is enough for the time that a deployment takes to restart.
"""
LONGEST: Final = 20.0
"""The longest time that a server takes for a request."""
SLACK: Final = 10.0
"""How much longer than that a client waits for an answer."""
POLL_PAUSE: Final = 0.05
"""The wait between two polls, because a server that is stopping answers at once."""
LONGEST_PAUSE: Final = 300.0
"""The longest pause between two requests of a call that waits, if the options have none."""
LONGEST_BACKOFF: Final = 60.0
"""The longest wait of a call that only waits, after a refusal for lack of capacity."""
MOST_RETRY_AFTER: Final = 60.0
"""The longest wait that the client grants a server."""


class Absent:
    """An input that is not sent."""


ABSENT: Final = Absent()


@dataclass(frozen=True)
class Request:
    """A request that a client sends."""

    method: str
    path: str
    params: dict[str, str]
    body: dict[str, Any] | None
    timeout: float
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pause:
    """A wait, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """The answer to a request. Without an answer there is a reason."""

    status: int = 0
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    lost: Exception | None = None


Steps: TypeAlias = Generator[Request | Pause, Reply, T]


class Wait:
    """One call: its time, and its cost so far."""

    def __init__(self, deadline: datetime | float | None, cost: Cost = Cost()) -> None:
        self.cost = cost
        self.failed: WeftError | None = None
        self._deadline = deadline.timestamp() if isinstance(deadline, datetime) else deadline
        self._began = time()
        self._paused = 0.0

    @property
    def bounded(self) -> bool:
        return self._deadline is not None

    def left(self) -> float:
        """Returns the time that is left. It raises DeadlinePassed if there is none."""
        if self._deadline is None:
            return float("inf")
        left = self._deadline - time()
        if left <= 0:
            passed = DeadlinePassed("the deadline has passed: the request may have taken effect")
            passed.cost = self.cost
            raise passed from self.failed
        return left

    def server_time(self) -> float:
        """Returns how long the server may take for the next request.

        A tenth of the time that is left, at most half a second, is for the way there and back.
        """
        left = self.left()
        return min(left - min(left / 10, 0.5), LONGEST)

    def pause(self, seconds: float) -> Steps[None]:
        yield Pause(min(seconds, self.left()))

    def waited(self) -> dict[str, str]:
        """Returns the header that says how long the call has waited, if it has."""
        seconds = max(time() - self._began, self._paused)
        return {"Weft-Waited": duration(seconds)} if seconds >= 0.001 else {}

    def pause_after(self, answer: dict[str, Any]) -> Steps[None]:
        """Pauses after an answer without news, for as long as its ``retryAfter`` says.

        It is a tenth or a second more or less, so that callers who began together do not ask together. Before
        the deadline there is time for one more request.
        """
        asked, pause = seconds_of(answer.get("retryAfter")), POLL_PAUSE
        if asked > 0:
            most = min(asked, LONGEST_PAUSE)
            pause = max(min(most + random.uniform(-1, 1) * min(most / 10, 1), LONGEST_PAUSE), POLL_PAUSE)
            left = self.left()
            last = left - min(left / 10, 0.5)
            pause = last if left < pause and last >= 0.001 else pause
        yield from self.pause(pause)
        self._paused += pause


def duration(seconds: float) -> str:
    """Returns a time span as the API takes it."""
    return f"{int(seconds * 1000)}ms"


UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PART: Final = r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|us|µs|ns)"


def seconds_of(text: object) -> float:
    """Returns the seconds of a duration such as 1m30.5s; 0 of anything else."""
    if not isinstance(text, str) or not re.fullmatch(f"(?:{PART})+", text):
        return 0.0
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(PART, text))


def new_id() -> str:
    """Returns a new id, by which the server recognises a request when it is repeated."""
    return secrets.token_hex(16)


def cost_of(header: str) -> Cost:
    """Parses the header Weft-Cost. It ignores what it does not know."""
    names = {"writes": "writes", "reads": "reads", "messages": "messages", "lost": "lost", "blobPuts": "blob_puts", "blobGets": "blob_gets"}
    return Cost(**{names[name]: int(count) for name, count in re.findall(r"(\w+)=([0-9]{1,18})", header) if name in names})


def ask(
    wait: Wait,
    method: str,
    path: str,
    is_answer: Callable[[dict[str, Any]], bool],
    params: Callable[[], dict[str, str | None]] = dict,
    body: Callable[[], dict[str, Any]] | None = None,
    polls: bool = False,
) -> Steps[dict[str, Any]]:
    """Sends a request, repeats it while its answer is lost, busy or unknown, and returns the answer.

    A request that ``polls`` only waits: while it is refused for lack of capacity, it is no attempt.

    It raises a Problem if the server refuses the request, and UnexpectedAnswer if the answer is not
    one of Weft's. The request must be safe to repeat: it writes nothing, or carries an id.
    """
    attempt, refusals = 1, 0
    while True:
        timeout = min(wait.left(), LONGEST + SLACK)
        given = {name: value for name, value in params().items() if value is not None}
        reply = yield Request(method, path, given, body() if body else None, timeout, wait.waited() if polls else {})
        wait.cost += cost_of(reply.headers.get("weft-cost", ""))
        answer = answer_of(reply, is_answer)
        if not isinstance(answer, WeftError):
            return answer
        answer.cost = wait.cost
        wait.failed = answer
        if not may_repeat(answer):
            raise answer
        if polls and isinstance(answer, Problem) and reply.status in (429, 503):
            refusals += 1
            yield from wait.pause(backoff(refusals, answer.retry_after, LONGEST_BACKOFF))
            continue
        if not wait.bounded and attempt == ATTEMPTS:
            raise answer
        yield from wait.pause(backoff(attempt, answer.retry_after if isinstance(answer, Problem) else 0))
        attempt += 1


def may_repeat(error: WeftError) -> bool:
    return isinstance(error, NoAnswer) or isinstance(error, Problem) and error.again


def backoff(attempt: int, least: float, longest: float = 2.0) -> float:
    """Returns the wait before the next attempt, at least ``least``.

    The wait doubles with each attempt, from 50 ms to ``longest``. Up to half of it is taken off at
    random, so that callers who were refused together do not retry together.
    """
    most: float = min(0.025 * 2 ** min(attempt, 12), longest)
    return max(most - random.random() * most / 2, least)


def answer_of(reply: Reply, is_answer: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | WeftError:
    """Returns the answer in a reply, or what is wrong with it."""
    if reply.lost is not None:
        lost = NoAnswer(f"no answer: {reply.lost}")
        lost.__cause__ = reply.lost
        return lost
    try:
        data = json.loads(reply.body)
    except ValueError:
        data = None
    good = 200 <= reply.status < 300
    if isinstance(data, dict) and (good or data.get("stage") == "rejected") and is_answer(data):
        return data
    if good:
        return UnexpectedAnswer(f"the server answered {reply.status}, but this is not an answer of Weft: check the address")
    return problem_of(reply, data)


def problem_of(reply: Reply, data: object) -> Problem:
    """Returns the Problem of a refusal. A refusal by a proxy or a gateway becomes a Problem, too."""
    after = reply.headers.get("retry-after", "")
    retry_after = min(float(after), MOST_RETRY_AFTER) if re.fullmatch(r"[0-9]{1,9}", after) else 0.0
    if isinstance(data, dict) and str(data.get("type", "")).startswith("urn:weft:problem:"):
        return Problem({**data, "status": reply.status}, retry_after)
    kind, title = "internal", "Internal error"
    if reply.status == 429:  # refused before it reached the server
        kind, title = "busy", "Busy"
    elif reply.status in (500, 502, 503, 504):
        kind, title = "outcome-unknown", "The outcome is not known"
    elif reply.status in (401, 403):
        kind, title = "forbidden", "Not allowed"
    detail = f"the server answered {reply.status} {reply.reason}".strip()
    return Problem({"type": f"urn:weft:problem:{kind}", "title": title, "status": reply.status, "detail": detail}, retry_after)


def path_of(workflow_id: str, *rest: str) -> str:
    return "/".join(["/v1/workflows", *(quote(part, safe="") for part in (workflow_id, *rest))])


def start_body(type_: str, input_: object, options: StartOptions) -> dict[str, Any]:
    """Returns the body of a start. Times become texts, and names those of the API."""
    body: dict[str, Any] = {"type": type_}
    if not isinstance(input_, Absent):
        body["input"] = input_
    for name, value in options.items():
        if name == "deadline" or value is None:
            continue
        if name == "retry_policy":
            value = wire_members(options["retry_policy"])
        if name == "notify":
            value = [wire_members(one) for one in options["notify"]]
        body[wire_name(name)] = wire_value(name, value)
    return body


TIMES: Final = ("run_timeout", "execution_timeout", "start_delay", "initial_interval", "maximum_interval")
"""The options that are times, in seconds."""


def wire_name(name: str) -> str:
    """Returns the name that the API has for an option."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def wire_members(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of a part of a request as the API takes them."""
    return {wire_name(name): wire_value(name, value) for name, value in options.items()}


def wire_value(name: str, value: object) -> object:
    """Returns the value of an option as the API takes it."""
    return duration(float(str(value))) if name in TIMES else value


def with_start(options: SignalOptions) -> dict[str, Any]:
    """Returns the start of an update or a signal. It has a request id, so that it can be repeated."""
    start = options.get("start")
    return {} if start is None else {"start": {"idConflictPolicy": "useExisting", "requestId": new_id(), **start.body}}


def with_input(input_: object) -> dict[str, Any]:
    return {} if isinstance(input_, Absent) else {"input": input_}


def is_run(answer: dict[str, Any]) -> bool:
    return isinstance(answer.get("runId"), str)


def start(workflow_id: str, type_: str, input_: object, options: StartOptions) -> Steps[Run]:
    wait = Wait(options.get("deadline"))
    body = {"workflowId": workflow_id, "requestId": new_id(), **start_body(type_, input_, options)}
    answer = yield from ask(wait, "POST", "/v1/workflows", is_run, body=lambda: body)
    return Run(workflow_id=answer.get("workflowId", workflow_id), run_id=answer["runId"], cost=wait.cost)


def run(workflow_id: str, type_: str, input_: object, options: StartOptions) -> Steps[Ended[Any]]:
    wait = Wait(options.get("deadline"))
    body = {"workflowId": workflow_id, "requestId": new_id(), **start_body(type_, input_, options)}
    answer = yield from ask(wait, "POST", "/v1/workflows", is_run, lambda: {"wait": duration(wait.server_time())}, lambda: body)
    outcome = answer.get("outcome") or {}
    ended = end_of(outcome, wait.cost)
    if ended is not None:
        return ended
    if outcome.get("retryAfter"):
        yield from wait.pause_after(outcome)
    return (yield from _result(wait, workflow_id, outcome.get("newRunId") or answer["runId"]))


def signal(workflow_id: str, name: str, input_: object, options: SignalOptions) -> Steps[Sent]:
    wait = Wait(options.get("deadline"))
    body = {"requestId": options.get("id") or new_id(), **with_input(input_), **with_start(options)}
    yield from ask(wait, "POST", path_of(workflow_id, "signals", name), lambda a: True, lambda: {"runId": options.get("run_id")}, lambda: body)
    return Sent(cost=wait.cost)


def query(workflow_id: str, name: str, input_: object, options: ReadOptions) -> Steps[Answer[Any]]:
    wait = Wait(options.get("deadline"))
    body = with_input(input_)
    path = path_of(workflow_id, "queries", name)
    answer = yield from ask(wait, "POST", path, lambda a: "result" in a, lambda: {"runId": options.get("run_id")}, lambda: body)
    return Answer(result=answer["result"], cost=wait.cost)


def is_stage(answer: dict[str, Any]) -> bool:
    return answer.get("stage") in ("accepted", "admitted", "completed", "rejected")


def _update(wait: Wait, workflow_id: str, name: str, input_: object, wait_for: str, options: CallOptions) -> Steps[dict[str, Any]]:
    same = {"updateId": options.get("id") or new_id(), "waitFor": wait_for, **with_input(input_), **with_start(options)}
    timeout = options.get("timeout")

    def body() -> dict[str, Any]:
        if timeout is not None:
            return {**same, "timeout": duration(timeout)}
        return {**same, "timeout": duration(wait.server_time())} if wait.bounded else same

    path = path_of(workflow_id, "updates", name)
    return (yield from ask(wait, "POST", path, is_stage, lambda: {"runId": options.get("run_id")}, body))


Errors: TypeAlias = Sequence[type[DeclaredError[Any]]]
AnyOutcome: TypeAlias = Completed[Any] | Failed[Any] | Rejected[Any]


def call(workflow_id: str, name: str, input_: object, errors: Errors, options: CallOptions) -> Steps[AnyOutcome]:
    wait = Wait(options.get("deadline"))
    sent = yield from _update(wait, workflow_id, name, input_, "completed", options)
    if sent["stage"] in ("accepted", "admitted"):
        started = sent.get("started")
        if sent.get("retryAfter"):
            yield from wait.pause_after(sent)
        sent = yield from _completion(wait, workflow_id, sent["updateId"], sent["runId"])
        sent = sent if started is None else {**sent, "started": started}
    return outcome_of(sent, errors, wait.cost)


def send(workflow_id: str, name: str, input_: object, options: CallOptions) -> Steps[Accepted | Rejected[OtherError]]:
    wait = Wait(options.get("deadline"))
    sent = yield from _update(wait, workflow_id, name, input_, "accepted", options)
    if sent["stage"] == "rejected":
        rejected = outcome_of(sent, (), wait.cost)
        assert isinstance(rejected, Rejected)
        return rejected
    return Accepted(update_id=sent["updateId"], run_id=sent["runId"], started=sent.get("started"), cost=wait.cost)


def outcome(workflow_id: str, update_id: str, errors: Errors, options: ReadOptions) -> Steps[AnyOutcome]:
    wait = Wait(options.get("deadline"))
    answer = yield from _completion(wait, workflow_id, update_id, options.get("run_id"))
    return outcome_of(answer, errors, wait.cost)


def _completion(wait: Wait, workflow_id: str, update_id: str, run_id: str | None) -> Steps[dict[str, Any]]:
    while True:
        params = _poll(wait, run_id)
        answer = yield from ask(wait, "GET", path_of(workflow_id, "updates", update_id), is_stage, params, polls=True)
        if answer["stage"] == "completed":
            return answer
        run_id = answer["runId"]  # stay with this run even if another one is started
        yield from wait.pause_after(answer)


def _poll(wait: Wait, run_id: str | None, **more: str) -> Callable[[], dict[str, str | None]]:
    return lambda: {"runId": run_id, **more, "wait": duration(wait.server_time())}


def result(workflow_id: str, options: ReadOptions) -> Steps[Ended[Any]]:
    return (yield from _result(Wait(options.get("deadline")), workflow_id, options.get("run_id")))


def _result(wait: Wait, workflow_id: str, run_id: str | None) -> Steps[Ended[Any]]:
    while True:
        params = _poll(wait, run_id)
        answer = yield from ask(wait, "GET", path_of(workflow_id, "result"), lambda a: is_run(a) and isinstance(a.get("status"), str), params, polls=True)
        ended = end_of(answer, wait.cost)
        if ended is not None:
            return ended
        if answer.get("newRunId"):
            run_id = answer["newRunId"]
            continue
        run_id = answer["runId"]
        yield from wait.pause_after(answer)


def webhook_secret(receiver: str, options: WaitOptions) -> Steps[WebhookSecrets]:
    wait = Wait(options.get("deadline"))

    def has_secrets(a: dict[str, Any]) -> bool:
        return isinstance(a.get("secrets"), list) and len(a["secrets"]) > 0

    answer = yield from ask(wait, "POST", "/v1/webhooks/secret", has_secrets, body=lambda: {"url": receiver})
    return WebhookSecrets(origin=answer["origin"], secrets=tuple(answer["secrets"]), cost=wait.cost)


def page(workflow_id: str, run_id: str | None, first: int, cost: Cost, options: ReadOptions) -> Steps[Page]:
    """Waits for the next page of a history: it has events, or is the last one of its run.

    Its cost includes ``cost``.
    """
    wait = Wait(options.get("deadline"), cost)

    def is_page(a: dict[str, Any]) -> bool:
        return is_run(a) and isinstance(a.get("events"), list) and isinstance(a.get("next"), int) and a["next"] >= first

    while True:
        params = _poll(wait, run_id, **{"from": str(first)})
        answer = yield from ask(wait, "GET", path_of(workflow_id, "history"), is_page, params, polls=True)
        closed = bool(answer.get("closed"))
        if answer["events"] or closed:
            return Page(
                run_id=answer["runId"], events=answer["events"], next=answer["next"], closed=closed, new_run_id=answer.get("newRunId"), cost=wait.cost
            )
        run_id = answer["runId"]
        yield from wait.pause_after(answer)


def items(
    workflow_id: str, name: str, run_id: str | None, first: int | None, waits: bool, cost: Cost, options: TopicOptions
) -> Steps[tuple[TopicPage[Any], bool]]:
    """Returns the next page of a topic, and whether other items are there already.

    If it waits, the page has items, or says why there are none. Its cost includes ``cost``.
    """
    wait = Wait(options.get("deadline"), cost)
    limit = options.get("limit")

    def params() -> dict[str, str | None]:
        return {
            "runId": run_id,
            "from": None if first is None else str(first),
            "limit": None if limit is None else str(limit),
            "wait": duration(wait.server_time()) if waits else None,
        }

    def is_page(a: dict[str, Any]) -> bool:
        return is_run(a) and isinstance(a.get("items"), list) and isinstance(a.get("next"), int) and a["next"] >= (first or 0)

    while True:
        answer = yield from ask(wait, "GET", path_of(workflow_id, "topics", name), is_page, params, polls=waits)
        withdrawn, closed = answer.get("withdrawn"), bool(answer.get("closed"))
        more = bool(answer.get("more"))
        if answer["items"] or more or closed or withdrawn or not waits:
            read = TopicPage(
                run_id=answer["runId"],
                items=[item_of(i) for i in answer["items"]],
                first=answer.get("first", 0),
                next=answer["next"],
                closed=closed,
                new_run_id=answer.get("newRunId"),
                withdrawn=(withdrawn["from"], withdrawn["before"]) if withdrawn else None,
                cost=wait.cost,
            )
            return read, more
        run_id, first = answer["runId"], answer["next"]
        yield from wait.pause_after(answer)


def item_of(item: dict[str, Any]) -> TopicItem[Any]:
    by = item.get("activity")
    activity = TopicActivity(run_id=by["runId"], scheduled_event_id=by["scheduledEventId"], attempt=by["attempt"], execution=by["execution"]) if by else None
    return TopicItem(offset=item["offset"], at=item["at"], value=item.get("value"), activity=activity)


class Reading:
    """Where the reader of a topic is."""

    def __init__(self, options: TopicOptions) -> None:
        self._options = options
        self._run_id, self._next = options.get("run_id"), options.get("from_offset")
        self._waits = False  # the first look is at what there is
        self._cost = Cost()  # of the pages since the last one that was returned
        self.ended = False

    def steps(self, workflow_id: str, name: str) -> Steps[TopicPage[Any] | None]:
        """Reads the next page. It returns None if there is nothing in it, and others follow."""
        read, more = yield from items(workflow_id, name, self._run_id, self._next, self._waits, self._cost, self._options)
        self._run_id, self._next = read.new_run_id or read.run_id, read.next
        waits = self._options.get("wait", True)
        self._waits = waits and not more and read.new_run_id is None
        self.ended = read.new_run_id is None and (read.closed or not waits and not more)
        if read.items or read.withdrawn or self.ended:
            self._cost = Cost()
            return read
        self._cost = read.cost
        return None


class Watching:
    """Where the reader of a history is."""

    def __init__(self, options: WatchOptions) -> None:
        self._options = options
        self._run_id, self._next = options.get("run_id"), options.get("from_event", 1)
        self._cost = Cost()  # of the pages since the last one that was returned
        self.ended = False

    def steps(self, workflow_id: str) -> Steps[Page | None]:
        """Reads the next page. It returns None if there is nothing in it, and others follow."""
        read = yield from page(workflow_id, self._run_id, self._next, self._cost, self._options)
        self.ended = read.closed and read.new_run_id is None
        self._run_id, self._next = (read.new_run_id, 1) if read.closed else (read.run_id, read.next)
        if read.events or self.ended:
            self._cost = Cost()
            return read
        self._cost = read.cost
        return None


def end_of(answer: dict[str, Any], cost: Cost) -> Ended[Any] | None:
    """Returns the outcome of a run, or None if the run is open or another run follows it."""
    status: Literal["completed", "failed", "canceled", "terminated", "timedOut"] | None = answer.get("status")
    if answer.get("newRunId"):
        return None
    if status == "completed":
        return RunCompleted(run_id=answer["runId"], result=answer.get("result"), cost=cost)
    if status in ("failed", "canceled", "terminated", "timedOut") and "failure" in answer:
        return RunFailed(status=status, run_id=answer["runId"], failure=answer["failure"], cost=cost)
    return None


def outcome_of(answer: dict[str, Any], errors: Errors, cost: Cost) -> AnyOutcome:
    update_id, run_id, started = answer["updateId"], answer.get("runId"), answer.get("started")
    failure: Failure | None = answer.get("failure")
    if answer["stage"] == "rejected":
        failure = failure or {}
        error = error_of(failure, errors)
        at, known = answer.get("at"), tuple(answer.get("known", ()))
        return Rejected(update_id=update_id, run_id=run_id, started=started, cost=cost, failure=failure, error=error, at=at, known=known)
    if not isinstance(run_id, str):
        unexpected = UnexpectedAnswer("an accepted update has no run: check the address")
        unexpected.cost = cost
        raise unexpected
    if failure is None:
        return Completed(update_id=update_id, run_id=run_id, started=started, cost=cost, result=answer.get("result"))
    return Failed(update_id=update_id, run_id=run_id, started=started, cost=cost, failure=failure, error=error_of(failure, errors))


def error_of(failure: Failure, errors: Errors) -> DeclaredError[Any] | OtherError:
    """Returns the first error in a failure that is one of these.

    Any other error has the first message in it: that of an activity's failure is in its cause.
    """
    part: Failure | None = failure
    message = ""
    while part is not None:
        message = message or part.get("message", "")
        for kind in errors:
            if part.get("type") == kind.type:
                details = part.get("details")
                return kind(part.get("message", kind.type), None if details is None else json.loads(base64.b64decode(details)))
        part = part.get("cause")
    return OtherError(message or failure.get("kind", ""))
