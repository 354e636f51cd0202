"""A test of generated clients that read topics, against the local server."""

from __future__ import annotations

import unittest

import httpx
from weft_client import AsyncWeft, Rejected, RunCompleted, TopicPage, Weft

from .generated import agent_sync
from .generated.agent import Agent, NoReason, NotAsked, Step
from .server import Server


class Losing(httpx.AsyncHTTPTransport):
    """Loses every second answer of a topic on the way."""

    reads = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if "/topics/" in request.url.path:
            self.reads += 1
            if self.reads % 2 == 1:
                await answer.aclose()
                raise httpx.ReadError("the line is dead", request=request)
        return answer


class TopicsTest(unittest.IsolatedAsyncioTestCase):
    async def test_cut_connections(self) -> None:
        losing = Losing()
        with Server() as server:
            async with httpx.AsyncClient(transport=losing) as http:
                await self.steer(AsyncWeft(server.url, http=http))
            self.assertGreaterEqual(losing.reads, 4)
            with Weft(server.url) as weft:
                kinds = [item.value["kind"] for page in agent_sync.Agent(weft, "agent-1").progress() for item in page.items]
            self.assertEqual(kinds[-1], "done")

    async def steer(self, weft: AsyncWeft) -> None:
        agent = await Agent.start(weft, "agent-1", {"text": "a trip to Lisbon"})
        steps: list[Step] = []

        def take(page: TopicPage[Step]) -> int:
            for item in page.items:
                self.assertEqual(item.offset, len(steps))
                self.assertEqual(item.activity is not None, item.value["kind"] == "word")
                steps.append(item.value)
            return page.next

        following = 0
        async for page in agent.progress():
            following = take(page)
            if steps and steps[-1]["kind"] == "asked":
                break

        refused = await agent.decide({"question": 1, "approve": False})
        assert isinstance(refused, Rejected) and isinstance(refused.error, NoReason)
        early = await agent.decide({"question": 2, "approve": True})
        assert isinstance(early, Rejected) and isinstance(early.error, NotAsked)
        self.assertEqual(early.error.details, {"question": 1})
        approved = await agent.decide({"question": 1, "approve": True})
        self.assertEqual(approved.stage, "completed")

        # Another reader goes on where the first one stopped.
        async for page in Agent(weft, "agent-1").progress(from_offset=following):
            take(page)
        self.assertEqual([step["kind"] for step in steps if step["kind"] != "word"], ["thought", "found", "thought", "asked", "approved", "found", "thought", "done"])
        ended = await agent.result()
        assert isinstance(ended, RunCompleted)
        self.assertEqual(ended.result["booked"], steps[-1]["text"])
