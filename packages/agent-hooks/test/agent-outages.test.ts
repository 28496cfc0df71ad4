/**
 * Every supported agent: the server is killed before a call and while a call waits, and a decision
 * comes too late. All agents wait at the same time, because the hooks retry for seconds.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { AGENTS, type Agent } from "@countersign/agents";
import { exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { assertDenied, installAt, newInput, placeIn } from "./support/agent-story.ts";
import { feed } from "./support/hook-scene.ts";

const file = fileOwner();

/** Long enough for a pending call of each agent. The hooks end after this time. */
const WAIT_MS = 15_000;

type Outcomes = ReadonlyMap<Agent, Outcome>;

/** Calls that waited for longer than the wait of the profile. */
let late: Outcomes;
/** Calls that waited when the server was killed. */
let waiting: Outcomes;
/** Calls after the server was killed. */
let refused: Outcomes;

before(async () => {
  const server = await startServer(file);
  const { token } = await newAgent(server);
  const reviewer = await makeToken(server.data, { kind: "reviewer" });
  const home = temporaryFolder(file);
  /** Starts one call of each agent. */
  const callAll = async (waitMs: number): Promise<Outcomes> => {
    const outcomes = AGENTS.map(async (agent) => {
      const command = installAt(placeIn(home, agent), { url: server.url, token, waitMs });
      const words = ["/bin/sh", "-c", command];
      const call = feed(file, home, words, { input: newInput(agent) });
      return [agent, await call.ends(120_000)] as const;
    });
    return new Map(await Promise.all(outcomes));
  };
  late = await callAll(1_000);
  const killed = callAll(WAIT_MS);
  await eventually("a pending request of each agent", async () => {
    const url = `${server.url}/review/v1/requests?state=pending`;
    const { json } = await exchange<{ requests: unknown[] }>("GET", url, reviewer);
    return json.requests.length === AGENTS.length ? true : undefined;
  });
  await server.kill();
  [waiting, refused] = await Promise.all([killed, callAll(WAIT_MS)]);
});

for (const agent of AGENTS) {
  test(`[ours.adapters.agents.outage] ${agent.name}: without a decision in time, the call is denied`, () => {
    assertDenied(agent, outcomeOf(late, agent), /No reviewer decided about this call in time/);
  });

  test(`[ours.adapters.agents.outage] ${agent.name}: a call is denied if the server is killed before or during it`, () => {
    for (const outcomes of [waiting, refused]) {
      assertDenied(agent, outcomeOf(outcomes, agent), /could not be reached \(ECONNREFUSED\)/);
    }
  });
}

function outcomeOf(outcomes: Outcomes, agent: Agent): Outcome {
  const outcome = outcomes.get(agent);
  assert.ok(outcome !== undefined);
  return outcome;
}
