"""What calls take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from typing_extensions import TypedDict
from typing_extensions import TypeVar as TypeVarWithDefault

R = TypeVar("R", covariant=True)
D = TypeVar("D", covariant=True)
E = TypeVar("E", bound="DeclaredError[Any] | OtherError", covariant=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """What requests have cost, as the server has counted it.

    A sum includes the attempts that were refused. An answer that was lost is not in it.
    """

    writes: int = 0
    """Writes to the store."""
    reads: int = 0
    """Reads from the store."""
    messages: int = 0
    """Messages sent."""
    lost: int = 0
    """Writes that lost a race: billed, and nothing written."""
    blob_puts: int = 0
    """Large bodies that were offloaded."""
    blob_gets: int = 0
    """Large bodies that were read back."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Cost)))


class Failure(TypedDict, total=False):
    """An error of workflow or activity code, or of the server that runs it."""

    kind: str
    type: str
    message: str
    nonRetryable: bool
    stack: str
    timeout: str
    activityType: str
    eventId: int
    details: str
    cause: Failure
    workflowType: str
    workflowId: str
    runId: str


@dataclass(frozen=True)
class DeclaredError(Generic[D]):
    """An error that an update declares. A generated class is one type of error."""

    type: ClassVar[str] = ""
    """The type of the error."""
    message: str
    details: D


@dataclass(frozen=True)
class OtherError:
    """An error that the update does not declare. ``failure`` of the outcome has everything about it."""

    message: str


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[R]):
    """The answer of a query."""

    result: R
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A signal that was sent. It is durable."""

    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that was started, or found. It is durable."""

    workflow_id: str
    run_id: str
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class _Place:
    update_id: str
    started: bool | None
    """Whether the update started the run. Only an update with a start has it."""
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Accepted(_Place):
    """An update that was accepted. The acceptance is durable. The outcome follows."""

    run_id: str
    stage: Literal["accepted"] = field(default="accepted", init=False)


@dataclass(frozen=True, kw_only=True)
class Completed(_Place, Generic[R]):
    """An update whose handler returned a result."""

    run_id: str
    stage: Literal["completed"] = field(default="completed", init=False)
    result: R


@dataclass(frozen=True, kw_only=True)
class Failed(_Place, Generic[E]):
    """An update whose handler returned an error."""

    run_id: str
    stage: Literal["failed"] = field(default="failed", init=False)
    error: E
    failure: Failure


@dataclass(frozen=True, kw_only=True)
class Rejected(_Place, Generic[E]):
    """An update that was refused, by its validator or because its name or its input is wrong.

    It has no effect.
    """

    run_id: str | None
    """The run; None if the update would have started it."""
    stage: Literal["rejected"] = field(default="rejected", init=False)
    error: E
    failure: Failure
    at: str | None = None
    """The place in the request that is wrong, as in input.quantity, or None."""
    known: Sequence[str] = ()
    """The names of updates that exist, if there is no such update."""


Outcome: TypeAlias = Completed[R] | Failed[E | OtherError] | Rejected[E | OtherError]
"""The outcome of an update: a result, an error of its handler, or a refusal."""


@dataclass(frozen=True, kw_only=True)
class RunCompleted(Generic[R]):
    """A run that returned a result."""

    status: Literal["completed"] = field(default="completed", init=False)
    run_id: str
    result: R
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class RunFailed:
    """A run that ended without a result."""

    status: Literal["failed", "canceled", "terminated", "timedOut"]
    run_id: str
    failure: Failure
    cost: Cost


Ended: TypeAlias = RunCompleted[R] | RunFailed
"""The outcome of a run: a result, or a failure."""


@dataclass(frozen=True, kw_only=True)
class WebhookSecrets:
    """The secrets that sign the notifications to a receiver."""

    origin: str
    """The scheme, the host and the port of the receiver. All its URLs have the same secrets."""
    secrets: Sequence[str] = field(repr=False)
    """The current secret, and then the one before it, if that signs too."""
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of a run's history: the events that are new, in order."""

    run_id: str
    events: list[dict[str, Any]]
    next: int
    """The id of the event after the page."""
    closed: bool
    new_run_id: str | None
    """The run that follows this one, if it has closed."""
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class TopicActivity:
    """An attempt at an activity that has published items."""

    run_id: str
    """The run that has the activity.

    After a reset it is the run that was reset first, so that an activity keeps its ids.
    """
    scheduled_event_id: int
    """The event that scheduled the activity.

    With the run it identifies the activity: runs that follow have events with the same ids.
    """
    attempt: int
    execution: str
    """The execution of the attempt.

    If another one follows with items of the same activity, it has started over.
    """


@dataclass(frozen=True, kw_only=True)
class TopicItem(Generic[R]):
    """An item that a workflow has published on a topic."""

    offset: int
    """Its place in the topic."""
    at: str
    """When it was published."""
    value: R
    activity: TopicActivity | None = None
    """The attempt at an activity that has published it; None if the workflow's code has."""


@dataclass(frozen=True, kw_only=True)
class TopicPage(Generic[R]):
    """Items of a topic, in order."""

    run_id: str
    items: list[TopicItem[R]]
    first: int
    """The offset of the oldest item that can be read."""
    next: int
    """The offset of the item after the page."""
    closed: bool
    new_run_id: str | None
    """The run that goes on with the topic, if this one has closed."""
    withdrawn: tuple[int, int] | None
    """A reset has withdrawn the items from the first offset on, before the second.

    The reader may have read them before.
    """
    cost: Cost


class WaitOptions(TypedDict, total=False):
    """How long a caller waits."""

    deadline: datetime | float
    """When the wait ends at the latest, as a time or in seconds since 1970.

    The server learns how much time is left. Until then a request is repeated as often as it takes.
    The call then raises DeadlinePassed. A request that was sent still takes effect.
    """


class ReadOptions(WaitOptions, total=False):
    """The options of a call that reads."""

    run_id: str
    """The id of a run. The default is the latest run."""


class WatchOptions(ReadOptions, total=False):
    """The options of watch."""

    from_event: int
    """The id of the first event; 1 without it."""


class TopicOptions(ReadOptions, total=False):
    """The options of the reading of a topic."""

    from_offset: int
    """The offset of the first item; the oldest without it."""
    limit: int
    """How many items a page has at most, 1 to 1000."""
    wait: bool
    """Whether to wait for items that are not there yet; True without it."""


class SignalOptions(ReadOptions, total=False):
    """The options of a signal."""

    id: str
    """The id by which the server recognises the request when it is repeated.

    By default the client generates one.
    """
    start: Start
    """Starts a run if none is open."""


class CallOptions(SignalOptions, total=False):
    """The options of an update."""

    timeout: float
    """How many seconds one request of the update may take; 20 at most, which is the default."""


KeywordAttribute = TypedDict("KeywordAttribute", {"keyword": str})
"""The value of a search attribute that is a keyword."""
KeywordListAttribute = TypedDict("KeywordListAttribute", {"keywordList": list[str]})
"""The value of a search attribute that is a list of keywords."""
IntAttribute = TypedDict("IntAttribute", {"int": int})
"""The value of a search attribute that is a whole number."""
FloatAttribute = TypedDict("FloatAttribute", {"float": float})
"""The value of a search attribute that is a number."""
BoolAttribute = TypedDict("BoolAttribute", {"bool": bool})
"""The value of a search attribute that is a truth value."""
TimeAttribute = TypedDict("TimeAttribute", {"time": str})
"""The value of a search attribute that is a moment, as in ``2026-11-27T21:00:00Z``."""

AnyMapping: TypeAlias = Mapping[str, object]
"""Search attributes or a memo that the contract does not name."""

A = TypeVarWithDefault("A", default=AnyMapping)
M = TypeVarWithDefault("M", default=AnyMapping)


class RetryPolicy(TypedDict, total=False):
    """When another run follows one that failed or timed out. Times are in seconds."""

    initial_interval: float
    """The wait before the second attempt; 1 without it."""
    backoff_coefficient: float
    """The factor by which the wait grows with each attempt; 2 without it."""
    maximum_interval: float
    """The longest wait; 100 times the first without it."""
    maximum_attempts: int
    """How many attempts there may be in all; without it, or with 0, there is no limit."""
    non_retryable_error_types: list[str]
    """Types of errors after which no attempt follows."""


class Notification(TypedDict, total=False):
    """A receiver of the notification that a run has ended: a URL, or the event bus of the deployment."""

    url: str
    """It gets a signed request, which ``verify_webhook`` verifies."""
    event_bridge: bool
    """Whether the event bus gets an event, instead of a URL."""
    result: bool
    """Whether the notification has the result, or the text of the failure, in plain text."""


class StartOptions(WaitOptions, Generic[A, M], total=False):
    """The options of the start of a run. Times are in seconds."""

    request_id: str
    header: Mapping[str, object]
    memo: M
    """What descriptions and lists of runs show."""
    search_attributes: A
    """By which the run is found: ``{"Region": {"keyword": "eu"}}``. They are never encrypted."""
    id_reuse_policy: Literal["allowDuplicate", "allowDuplicateFailedOnly", "rejectDuplicate"]
    id_conflict_policy: Literal["fail", "useExisting", "terminateExisting"]
    run_timeout: float
    execution_timeout: float
    start_delay: float
    retry_policy: RetryPolicy
    cron_schedule: str
    notify: Sequence[Notification]
    """Who is notified when the run has ended, or the last one that follows it: at most 4."""


@dataclass(frozen=True)
class Start:
    """The start of a run, for an update or a signal that starts one if none is open."""

    body: Mapping[str, object]
    """The members of the request."""
