/**
 * The setup of the framework tests: one server for the tests of a file, scripted calls, and a tool
 * that records its runs.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  ApprovalClient,
  Countersign,
  type CountersignOptions,
  MemoryStore,
} from "@countersign/sdk";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import type {
  Framework,
  Mode,
  Outcome,
  Payment,
  Results,
  ScriptedCall,
} from "./framework-description.ts";

const ends: (() => Promise<void> | void)[] = [];
let starting: Promise<AgentScene> | undefined;
let hasEnded = false;

// Here, and not where the scene is started: that is in a test, and would end with it.
after(async () => {
  hasEnded = true;
  for (const end of ends.reverse()) await end();
});

/** One server for the tests of a file; each test leaves nothing pending. */
export function sharedScene(): Promise<AgentScene> {
  assert.ok(!hasEnded, "A file with this scene needs the comment: // Process: own");
  starting ??= startAgentScene({ after: (end) => void ends.push(end) });
  return starting;
}

export function approvalsOf(
  { url, token }: AgentScene,
  options: CountersignOptions = {},
): Countersign {
  // A test that failed leaves no agent that waits for an hour.
  const bounds = { timeout: "1m", store: new MemoryStore(), logger: false } as const;
  return new Countersign({ url, apiKey: token, ...bounds, ...options });
}

export const CALL: ScriptedCall = { id: "call_1", arguments: { to: "  A-1 ", cents: 500 } };
export const SECOND: ScriptedCall = { id: "call_2", arguments: { to: "B-2", cents: 7 } };
export const LOOK: ScriptedCall = {
  id: "call_3",
  tool: "look",
  arguments: { to: "C-3", cents: 1 },
};

export const neverPays = (): string => assert.fail("it ran");

/** A tool that records its runs. */
export function payments() {
  const inputs: Payment[] = [];
  const pay = (input: Payment) => {
    inputs.push(input);
    return `paid ${input.to}`;
  };
  return { inputs, pay };
}

/** Decides each pending request by the `to` of its arguments. */
export async function decideAll(
  scene: AgentScene,
  verdicts: Readonly<Record<string, "approve" | "deny">>,
  fields?: object,
): Promise<void> {
  for (const _ of Object.keys(verdicts)) {
    const id = await scene.nextPending();
    const { arguments: submitted } = await scene.server.read(scene.token, id);
    const verdict = verdicts[Object(submitted).to];
    assert.ok(verdict !== undefined, `unexpected request of ${JSON.stringify(submitted)}`);
    await scene.server.decide(scene.reviewer, id, verdict, fields);
  }
}

export function clientOf({ url, token }: AgentScene): ApprovalClient {
  return new ApprovalClient({ url, apiKey: token });
}

export function modesOf({ streaming }: Framework): readonly Mode[] {
  return streaming === undefined ? ["complete", "stream"] : ["complete"];
}

/** The results that reached the program in this mode. */
export function deliveredBy({ results, streamed }: Outcome, mode: Mode): Results {
  return mode === "stream" ? streamed : results;
}

/** A limit of a framework is documented, with its reason. */
export function ruleOfLimit({ name }: Framework, what: string, reason: string): void {
  test(`[ours.sdk.frameworks.limits] ${name}: the documentation states why the framework has no ${what}`, () => {
    const page = join(import.meta.dirname, "../../../../docs/framework-approvals.md");
    assert.ok(readFileSync(page, "utf8").includes(reason), `missing in ${page}: ${reason}`);
  });
}
