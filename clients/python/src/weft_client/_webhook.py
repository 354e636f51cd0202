"""Verifies notifications of the ends of runs (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from time import time
from typing import Any, Final, Literal, cast

from typing_extensions import Required, TypedDict

from ._errors import InvalidWebhook

TOLERANCE: Final = 300
"""How old, or how far in the future, a request may be, in seconds."""

_MOST_SIGNATURES: Final = 16
"""How many signatures a request may have. A sender has one for each of its secrets."""


class EndingData(TypedDict, total=False):
    """What a notification says of the run."""

    id: Required[str]
    """Identifies the notification. A redelivered one has the same."""
    workflowId: Required[str]
    runId: Required[str]
    workflowType: Required[str]
    status: Required[Literal["completed", "failed", "canceled", "terminated", "timedOut"]]
    failureType: str
    """The type of the failure."""
    failureText: str
    """The text of the failure, if the start asked for the result."""
    result: Any
    """The result, if the start asked for it."""
    resultOmitted: Literal["tooLarge", "deleted"]
    """Why there is neither, although the start asked for it."""


class Ending(TypedDict):
    """The body of a notification that a run has ended. See docs/notifications.md."""

    type: Literal["workflow.completed", "workflow.failed", "workflow.canceled", "workflow.terminated", "workflow.timedOut"]
    timestamp: str
    """When the run ended."""
    data: EndingData


def verify_webhook(secret: str | Sequence[str], headers: Mapping[str, str], body: bytes | str, now: datetime | float | None = None) -> Ending:
    """Returns the notification in a request, if one of these secrets has signed it.

    It raises InvalidWebhook if none has, or not within five minutes of ``now``. ``headers`` are those
    of any framework. ``body`` is the whole body, as it came: a parsed one does not verify. A
    notification may come more than once, with the same ``id``.
    """
    keys = [_key(text) for text in ([secret] if isinstance(secret, str) else secret)]
    given = {name.lower(): value for name, value in headers.items()}
    id_, timestamp, signatures = (_value(f"webhook-{name}", given.get(f"webhook-{name}")) for name in ("id", "timestamp", "signature"))
    if not (id_ and timestamp and signatures):
        raise InvalidWebhook("the request is not signed: it lacks one of webhook-id, webhook-timestamp and webhook-signature")
    if not re.fullmatch(r"-?[0-9]{1,18}", timestamp):
        raise InvalidWebhook("the request's webhook-timestamp is no number")
    at = time() if now is None else now.timestamp() if isinstance(now, datetime) else now
    if abs(int(at) - int(timestamp)) > TOLERANCE:
        raise InvalidWebhook("the request was signed more than 5 minutes before or after now: it is old, or a clock is wrong")
    try:
        content = body.encode() if isinstance(body, str) else body
    except UnicodeEncodeError:
        raise InvalidWebhook("the request's body is not a text in UTF-8: give the bytes of the body") from None
    signed = f"{id_}.{timestamp}.".encode() + content
    all_ = [one.encode() for one in signatures.split()]
    if len(all_) > _MOST_SIGNATURES:
        raise InvalidWebhook(f"the request has more than {_MOST_SIGNATURES} signatures in webhook-signature")
    valid = False
    for key in keys:
        want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for one in all_:
            valid = hmac.compare_digest(one, want) or valid
    if not valid:
        raise InvalidWebhook("the request was not signed with this secret, or it was changed on the way")
    return cast(Ending, json.loads(content))


def _value(name: str, value: object) -> str:
    """Returns the value of a header, or an empty text if the request lacks it.

    Frameworks decode bytes that are not UTF-8 to surrogates (PEP 383). No sender sends them.
    """
    if value is None:
        return ""
    try:
        if isinstance(value, str):
            value.encode()
            return value
    except UnicodeEncodeError:
        pass
    raise InvalidWebhook(f"the request's {name} is not the value of a header") from None


def _key(secret: str) -> bytes:
    """Returns the key of a secret. The error does not contain the secret."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("this is no secret of a webhook: give one as `weft webhook secret` prints it, which begins with whsec_")
    return key
