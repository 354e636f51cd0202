"""The two clients, and the base classes of generated classes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack, cast

import httpx

from . import _core as core
from ._core import ABSENT, Pause, R, Reply, Request, Steps, T
from ._values import (
    A,
    Accepted,
    Answer,
    CallOptions,
    Ended,
    M,
    OtherError,
    Outcome,
    Page,
    ReadOptions,
    Rejected,
    Run,
    Sent,
    SignalOptions,
    Start,
    StartOptions,
    TopicOptions,
    TopicPage,
    WaitOptions,
    WatchOptions,
    WebhookSecrets,
)

I = TypeVar("I")
R_ = TypeVar("R_")


class AsyncWeft:
    """A client of one deployment of Weft, for asyncio.

    While the answer is lost, busy or unknown, its methods repeat a request with the same id, so that
    it takes effect once. They raise a Problem if the server refuses the request.
    """

    def __init__(
        self,
        address: str,
        *,
        headers: Mapping[str, str] | None = None,
        http: httpx.AsyncClient | None = None,
        pause: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        """Returns a client of the deployment at this address. It does not connect.

        ``http`` sends the requests, for example one that signs them. It is not closed by this client.
        ``pause`` waits between attempts and polls, for tests.
        """
        self._address = address.rstrip("/")
        self._headers = dict(headers or {})
        self._own = http is None
        self._http = http or httpx.AsyncClient()
        self._pause = pause

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        if self._own:
            await self._http.aclose()

    async def _drive(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._step(step))
        except StopIteration as done:
            return cast(T, done.value)

    async def _step(self, step: Request | Pause) -> Reply:
        if isinstance(step, Pause):
            await self._pause(step.seconds)
            return Reply()
        try:
            answer = await self._http.request(
                step.method, self._address + step.path, params=step.params, json=step.body, headers={**self._headers, **step.headers}, timeout=step.timeout
            )
        except httpx.HTTPError as error:
            return Reply(lost=error)
        return _reply(answer)

    async def start(self, workflow_id: str, type: str, input: object = ABSENT, **options: Unpack[StartOptions]) -> Run:
        """Starts a run of a workflow type. The run is durable when this returns."""
        return await self._drive(core.start(workflow_id, type, input, options))

    async def run(self, workflow_id: str, type: str, input: object = ABSENT, **options: Unpack[StartOptions]) -> Ended[Any]:
        """Starts a run, and returns its outcome when it has ended.

        That takes one request if the run ends while the server holds it: within 20 seconds on a local
        server. After a continue-as-new it waits for
        the next run.
        """
        return await self._drive(core.run(workflow_id, type, input, options))

    async def signal(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[SignalOptions]) -> Sent:
        """Sends a signal. It is durable when this returns."""
        return await self._drive(core.signal(workflow_id, name, input, options))

    async def query(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[ReadOptions]) -> Answer[Any]:
        """Sends a query, and returns its answer. A query writes nothing."""
        return await self._drive(core.query(workflow_id, name, input, options))

    async def call(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[CallOptions]) -> Outcome[Any, OtherError]:
        """Sends an update and waits for its outcome, however long that takes."""
        return await self._drive(core.call(workflow_id, name, input, (), options))

    async def send(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[CallOptions]) -> Accepted | Rejected[OtherError]:
        """Sends an update, and returns when it is durably accepted, or rejected.

        ``outcome`` waits for its outcome.
        """
        return await self._drive(core.send(workflow_id, name, input, options))

    async def outcome(self, workflow_id: str, update_id: str, **options: Unpack[ReadOptions]) -> Outcome[Any, OtherError]:
        """Waits for the outcome of an accepted update. Another client may have sent it."""
        return await self._drive(core.outcome(workflow_id, update_id, (), options))

    async def result(self, workflow_id: str, **options: Unpack[ReadOptions]) -> Ended[Any]:
        """Waits until a run has ended, however long that takes.

        After a continue-as-new it waits for the next run.
        """
        return await self._drive(core.result(workflow_id, options))

    async def webhook_secret(self, receiver: str, **options: Unpack[WaitOptions]) -> WebhookSecrets:
        """Returns the secrets that sign the notifications to a receiver.

        They are the current one, and then the one before it, if the deployment has changed it and
        signs with both. All URLs with the same scheme, host and port have the same secrets. Whoever
        has them can forge notifications.
        """
        return await self._drive(core.webhook_secret(receiver, options))

    async def watch(self, workflow_id: str, **options: Unpack[WatchOptions]) -> AsyncIterator[Page]:
        """Yields the history of a run as it grows.

        Each page has at least one event, but for the last one. It ends when the run and those that
        continue it have closed.
        To resume later, give the ``run_id`` and the ``next`` of the last page.
        """
        watching = core.Watching(options)
        while not watching.ended:
            page = await self._drive(watching.steps(workflow_id))
            if page is not None:
                yield page

    async def topic(self, workflow_id: str, name: str, **options: Unpack[TopicOptions]) -> AsyncIterator[TopicPage[Any]]:
        """Yields the items of a topic as they are published.

        Each page has at least one item, or says what a reset has withdrawn. Only the last one may
        have neither. It follows the runs that go on with the topic, until none does. A request that
        fails for a while is repeated, so nothing is lost and nothing repeated. To resume later, give
        the ``next`` of the last page.
        """
        reading = core.Reading(options)
        while not reading.ended:
            page = await self._drive(reading.steps(workflow_id, name))
            if page is not None:
                yield page


class Weft:
    """A client of one deployment of Weft that blocks. It does what AsyncWeft does."""

    def __init__(
        self,
        address: str,
        *,
        headers: Mapping[str, str] | None = None,
        http: httpx.Client | None = None,
        pause: Callable[[float], Any] = time.sleep,
    ) -> None:
        """Returns a client of the deployment at this address. It does not connect.

        ``http`` sends the requests, for example one that signs them. It is not closed by this client.
        ``pause`` waits between attempts and polls, for tests.
        """
        self._address = address.rstrip("/")
        self._headers = dict(headers or {})
        self._own = http is None
        self._http = http or httpx.Client()
        self._pause = pause

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._own:
            self._http.close()

    def _drive(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(self._step(step))
        except StopIteration as done:
            return cast(T, done.value)

    def _step(self, step: Request | Pause) -> Reply:
        if isinstance(step, Pause):
            self._pause(step.seconds)
            return Reply()
        try:
            answer = self._http.request(
                step.method, self._address + step.path, params=step.params, json=step.body, headers={**self._headers, **step.headers}, timeout=step.timeout
            )
        except httpx.HTTPError as error:
            return Reply(lost=error)
        return _reply(answer)

    def start(self, workflow_id: str, type: str, input: object = ABSENT, **options: Unpack[StartOptions]) -> Run:
        """Starts a run of a workflow type. The run is durable when this returns."""
        return self._drive(core.start(workflow_id, type, input, options))

    def run(self, workflow_id: str, type: str, input: object = ABSENT, **options: Unpack[StartOptions]) -> Ended[Any]:
        """Starts a run, and returns its outcome when it has ended."""
        return self._drive(core.run(workflow_id, type, input, options))

    def signal(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[SignalOptions]) -> Sent:
        """Sends a signal. It is durable when this returns."""
        return self._drive(core.signal(workflow_id, name, input, options))

    def query(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[ReadOptions]) -> Answer[Any]:
        """Sends a query, and returns its answer. A query writes nothing."""
        return self._drive(core.query(workflow_id, name, input, options))

    def call(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[CallOptions]) -> Outcome[Any, OtherError]:
        """Sends an update and waits for its outcome, however long that takes."""
        return self._drive(core.call(workflow_id, name, input, (), options))

    def send(self, workflow_id: str, name: str, input: object = ABSENT, **options: Unpack[CallOptions]) -> Accepted | Rejected[OtherError]:
        """Sends an update, and returns when it is durably accepted, or rejected."""
        return self._drive(core.send(workflow_id, name, input, options))

    def outcome(self, workflow_id: str, update_id: str, **options: Unpack[ReadOptions]) -> Outcome[Any, OtherError]:
        """Waits for the outcome of an accepted update. Another client may have sent it."""
        return self._drive(core.outcome(workflow_id, update_id, (), options))

    def result(self, workflow_id: str, **options: Unpack[ReadOptions]) -> Ended[Any]:
        """Waits until a run has ended, however long that takes."""
        return self._drive(core.result(workflow_id, options))

    def webhook_secret(self, receiver: str, **options: Unpack[WaitOptions]) -> WebhookSecrets:
        """Returns the secrets that sign the notifications to a receiver: see AsyncWeft.webhook_secret."""
        return self._drive(core.webhook_secret(receiver, options))

    def watch(self, workflow_id: str, **options: Unpack[WatchOptions]) -> Iterator[Page]:
        """Yields the history of a run as it grows: see AsyncWeft.watch."""
        watching = core.Watching(options)
        while not watching.ended:
            page = self._drive(watching.steps(workflow_id))
            if page is not None:
                yield page

    def topic(self, workflow_id: str, name: str, **options: Unpack[TopicOptions]) -> Iterator[TopicPage[Any]]:
        """Yields the items of a topic as they are published: see AsyncWeft.topic."""
        reading = core.Reading(options)
        while not reading.ended:
            page = self._drive(reading.steps(workflow_id, name))
            if page is not None:
                yield page


def _reply(answer: httpx.Response) -> Reply:
    return Reply(answer.status_code, answer.reason_phrase, answer.headers, answer.content)


class _Class(Generic[I, R, A, M]):
    """What the classes of both clients have."""

    workflow_type: ClassVar[str] = ""
    """The name of the workflow type."""
    takes_input: ClassVar[bool] = True
    """Whether a start of the type takes an input."""

    @classmethod
    def with_start(cls, input: I, **options: Unpack[StartOptions[A, M]]) -> Start:
        """Returns the option ``start`` of an update or a signal that starts a run if none is open."""
        return Start(core.start_body(cls.workflow_type, cls._input(input), cast(StartOptions, options)))

    @classmethod
    def _input(cls, input: I) -> object:
        return input if cls.takes_input else ABSENT


class AsyncWorkflow(_Class[I, R, A, M]):
    """A workflow of a type, with its id.

    ``weft generate python`` writes a subclass for each type. Its methods send the updates, queries
    and signals of the type to the latest run.
    """

    def __init__(self, weft: AsyncWeft, workflow_id: str, run_id: str | None = None) -> None:
        """Returns a workflow by its id. It does not check whether there is one."""
        self.weft = weft
        self.workflow_id = workflow_id
        self.run_id = run_id
        """The run that was started, or that the caller gave. ``result`` and ``watch`` begin with it."""
        self.started: Run | None = None
        """What the start has returned, with its cost."""

    @classmethod
    async def start(cls, weft: AsyncWeft, workflow_id: str, input: I, **options: Unpack[StartOptions[A, M]]) -> Self:
        """Starts a run. It is durable when this returns."""
        run = await weft._drive(core.start(workflow_id, cls.workflow_type, cls._input(input), cast(StartOptions, options)))
        started = cls(weft, run.workflow_id, run.run_id)
        started.started = run
        return started

    @classmethod
    async def run(cls, weft: AsyncWeft, workflow_id: str, input: I, **options: Unpack[StartOptions[A, M]]) -> Ended[R]:
        """Starts a run, and returns its outcome when it has ended."""
        return await weft._drive(core.run(workflow_id, cls.workflow_type, cls._input(input), cast(StartOptions, options)))

    async def result(self, **options: Unpack[ReadOptions]) -> Ended[R]:
        """Waits until the run has ended. After a continue-as-new it waits for the next run."""
        return await self.weft.result(self.workflow_id, **_of_run(self.run_id, options))

    def watch(self, **options: Unpack[WatchOptions]) -> AsyncIterator[Page]:
        """Yields the history of the run as it grows: see AsyncWeft.watch."""
        if self.run_id is not None:
            options.setdefault("run_id", self.run_id)
        return self.weft.watch(self.workflow_id, **options)

    async def _update(self, name: str, errors: core.Errors, input: object, options: CallOptions) -> core.AnyOutcome:
        return await self.weft._drive(core.call(self.workflow_id, name, input, errors, options))

    async def _query(self, name: str, input: object, options: ReadOptions) -> Answer[R_]:
        return await self.weft.query(self.workflow_id, name, input, **options)

    async def _signal(self, name: str, input: object, options: SignalOptions) -> Sent:
        return await self.weft.signal(self.workflow_id, name, input, **options)

    def _topic(self, name: str, options: TopicOptions) -> AsyncIterator[TopicPage[Any]]:
        if self.run_id is not None:
            options.setdefault("run_id", self.run_id)
        return self.weft.topic(self.workflow_id, name, **options)


class Workflow(_Class[I, R, A, M]):
    """A workflow of a type, with its id, for the client that blocks: see AsyncWorkflow."""

    def __init__(self, weft: Weft, workflow_id: str, run_id: str | None = None) -> None:
        """Returns a workflow by its id. It does not check whether there is one."""
        self.weft = weft
        self.workflow_id = workflow_id
        self.run_id = run_id
        """The run that was started, or that the caller gave. ``result`` and ``watch`` begin with it."""
        self.started: Run | None = None
        """What the start has returned, with its cost."""

    @classmethod
    def start(cls, weft: Weft, workflow_id: str, input: I, **options: Unpack[StartOptions[A, M]]) -> Self:
        """Starts a run. It is durable when this returns."""
        run = weft._drive(core.start(workflow_id, cls.workflow_type, cls._input(input), cast(StartOptions, options)))
        started = cls(weft, run.workflow_id, run.run_id)
        started.started = run
        return started

    @classmethod
    def run(cls, weft: Weft, workflow_id: str, input: I, **options: Unpack[StartOptions[A, M]]) -> Ended[R]:
        """Starts a run, and returns its outcome when it has ended."""
        return weft._drive(core.run(workflow_id, cls.workflow_type, cls._input(input), cast(StartOptions, options)))

    def result(self, **options: Unpack[ReadOptions]) -> Ended[R]:
        """Waits until the run has ended. After a continue-as-new it waits for the next run."""
        return self.weft.result(self.workflow_id, **_of_run(self.run_id, options))

    def watch(self, **options: Unpack[WatchOptions]) -> Iterator[Page]:
        """Yields the history of the run as it grows: see AsyncWeft.watch."""
        if self.run_id is not None:
            options.setdefault("run_id", self.run_id)
        return self.weft.watch(self.workflow_id, **options)

    def _update(self, name: str, errors: core.Errors, input: object, options: CallOptions) -> core.AnyOutcome:
        return self.weft._drive(core.call(self.workflow_id, name, input, errors, options))

    def _query(self, name: str, input: object, options: ReadOptions) -> Answer[R_]:
        return self.weft.query(self.workflow_id, name, input, **options)

    def _signal(self, name: str, input: object, options: SignalOptions) -> Sent:
        return self.weft.signal(self.workflow_id, name, input, **options)

    def _topic(self, name: str, options: TopicOptions) -> Iterator[TopicPage[Any]]:
        if self.run_id is not None:
            options.setdefault("run_id", self.run_id)
        return self.weft.topic(self.workflow_id, name, **options)


def _of_run(run_id: str | None, options: ReadOptions) -> ReadOptions:
    return options if run_id is None else {"run_id": run_id, **options}
