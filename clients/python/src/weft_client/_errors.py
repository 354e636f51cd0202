"""The exceptions of the client."""

from __future__ import annotations

from typing import Any

from ._values import Cost, Failure


class WeftError(Exception):
    """The base of all exceptions of the client."""

    cost: Cost = Cost()
    """What the call has cost until it failed: all its attempts and polls that were answered."""


class NoAnswer(WeftError):
    """A request without an answer. The request may have taken effect."""


class UnexpectedAnswer(WeftError):
    """An answer with a status of success that Weft did not send, for example the page of a proxy."""


class InvalidWebhook(WeftError):
    """A request that is no notification which this secret has signed. It may be forged."""


class DeadlinePassed(WeftError, TimeoutError):
    """A deadline that passed. A request that was sent may have taken effect.

    ``__cause__`` is why the last attempt failed, if one did.
    """


class Problem(WeftError):
    """A refusal of a request.

    The request has no effect, unless the type is ``urn:weft:problem:outcome-unknown``.
    """

    def __init__(self, document: dict[str, Any], retry_after: float = 0) -> None:
        self.type: str = document["type"]
        """The kind of the refusal."""
        self.title: str = str(document.get("title", ""))
        self.detail: str = str(document.get("detail", ""))
        """What is wrong, and what to do about it."""
        self.status: int = document["status"]
        self.at: str | None = document.get("at")
        """The place of the error in the request, for example ``input.quantity``."""
        self.known: list[str] = document.get("known") or []
        """The names that exist, if a name is unknown."""
        self.failure: Failure | None = document.get("failure")
        """The failure of the code that the request ran, if there is one."""
        self.retry_after = retry_after
        """How many seconds to wait before the request is sent again; 0 if the answer does not say."""
        super().__init__(f"{self.title}: {self.detail}")

    @property
    def again(self) -> bool:
        """Whether the request can succeed if it is repeated with the same id."""
        return self.type in ("urn:weft:problem:busy", "urn:weft:problem:outcome-unknown")
