import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Weft, type TopicPage } from "weft-client";

import { Agent, type Step } from "./generated/agent.js";
import { serve, type Server } from "./server.js";

let server: Server;
before(async () => (server = await serve()));
after(() => server.stop());

test("a reader whose connection is cut gets each step of an agent once", async () => {
  let reads = 0;
  const losing = new Weft(server.url, {
    // Every second answer of a topic is lost on the way.
    async fetch(request) {
      const answer = await fetch(request);
      if (request.url.includes("/topics/") && reads++ % 2 === 0) {
        throw new TypeError("the line is dead");
      }
      return answer;
    },
  });
  const agent = await Agent.start(losing, "agent-1", { text: "a trip to Lisbon" });
  const steps: Step[] = [];
  const take = ({ items, next }: TopicPage<Step>): number => {
    for (const { offset, value, activity } of items) {
      assert.equal(offset, steps.length);
      assert.equal(activity !== undefined, value.kind === "word");
      steps.push(value);
    }
    return next;
  };
  let next = 0;
  for await (const page of agent.progress()) {
    next = take(page);
    if (steps.at(-1)?.kind === "asked") {
      break;
    }
  }

  const refused = await agent.decide({ question: 1, approve: false });
  assert(refused.stage === "rejected" && refused.error.type === "noReason");
  const early = await agent.decide({ question: 2, approve: true });
  assert(early.stage === "rejected" && early.error.type === "notAsked");
  assert.equal(early.error.details.question, 1);
  const approved = await agent.decide({ question: 1, approve: true });
  assert(approved.stage === "completed");

  // Another reader goes on where the first one stopped.
  for await (const page of new Agent(losing, "agent-1").progress({ from: next })) {
    take(page);
  }
  assert.deepEqual(steps.map(({ kind }) => kind).filter((kind) => kind !== "word"), ["thought", "found", "thought", "asked", "approved", "found", "thought", "done"]);
  const ended = await agent.result();
  assert(ended.status === "completed" && ended.result.booked === steps.at(-1)?.text);
  assert(reads >= 4);
});
