/**
 * The act about policy: what is harmless is approved at once, what is forbidden denied at once, a
 * person is asked about the rest, and grants the next calls of its kind.
 */

import { join, relative } from "node:path";
import type { ApprovalRequest } from "@countersign/protocol";
import { mayRun } from "./adapter.ts";

const POLICY = relative(process.cwd(), join(import.meta.dirname, "policy.yaml"));

const READ = { tool: "Read", arguments: { path: "README.md" }, timeout: "10m" };
const DROP = { tool: "db.execute", arguments: { sql: "DROP TABLE orders" }, timeout: "10m" };
const EDIT = { tool: "Edit", arguments: { path: "src/cart.ts" }, timeout: "10m" };
const NEXT_EDIT = { tool: "Edit", arguments: { path: "src/price.ts" }, timeout: "10m" };
const OTHER_EDIT = { tool: "Edit", arguments: { path: "src/../deploy.sh" }, timeout: "10m" };

/** The parts of the demonstration that this act uses. */
export interface Cast {
  say(text?: string): void;
  /** Submits a call as the agent, and says so. */
  ask(key: string, body: object): Promise<ApprovalRequest>;
  /** Runs a command as the reviewer, and prints it with its answer. */
  review(...command: readonly string[]): Promise<void>;
}

export async function showPolicy({ say, ask, review }: Cast): Promise<void> {
  await review("policy", "test", POLICY);
  await review("policy", "publish", POLICY, "--expect", "0");
  say();
  expect(await ask("read", READ), "approved");
  say("  approved at once: a rule says so.");
  const dropped = await ask("drop", DROP);
  expect(dropped, "denied");
  say(`  denied at once: "${dropped.decision?.note}"`);
  const edit = await ask("edit", EDIT);
  expect(edit, "pending");
  say("  waits for a person, who grants the next ten of its kind below src/:");
  const within = 'within(args.path, "src")';
  await review("grants", "create", edit.id, "--calls", "10", "--lasts", "30m", "--when", within);
  await review("requests", "approve", edit.id, "--yes");
  say();
  expect(await ask("next-edit", NEXT_EDIT), "approved");
  say("  approved at once: by the grant.");
  expect(await ask("other-edit", OTHER_EDIT), "pending");
  say("  waits: it climbs out of src/.");
}

export function expect(request: ApprovalRequest, status: ApprovalRequest["status"]): void {
  if (request.status !== status || (status === "approved" && !mayRun(request))) {
    throw new Error(`${request.tool} is ${request.status} and not ${status}`);
  }
}
