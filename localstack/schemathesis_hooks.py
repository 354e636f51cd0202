"""Gives each request an id of its own. Schemathesis repeats the ids of the document's examples. The server answers a request with the
id of an earlier one as it answered that, whatever else it contains, so Schemathesis would report invalid data as accepted."""

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
    if renewed != case.body:  # setting a body, even the same one, makes Schemathesis judge the request again
        case.body = renewed
