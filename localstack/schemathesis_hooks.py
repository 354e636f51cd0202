"""Gives each request an id of its own. A request with the id of an earlier one is answered as that was, whatever else it says, so
Schemathesis, which uses the ids of the document's examples again and again, would take invalid data for accepted."""

import itertools
import re

import schemathesis

number = itertools.count(1)
valid = re.compile(r"[A-Za-z0-9-]{1,60}")


def renew(body):
    if not isinstance(body, dict):
        return body
    body = {name: renew(value) if name == "start" else value for name, value in body.items()}
    for name in ("requestId", "updateId"):
        if isinstance(body.get(name), str) and valid.fullmatch(body[name]):
            body[name] += f"-{next(number)}"
    return body


@schemathesis.hook
def before_call(context, case, kwargs):
    renewed = renew(case.body)
    if renewed != case.body:  # setting a body, even the same, has Schemathesis judge the request anew
        case.body = renewed
