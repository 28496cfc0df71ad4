/**
 * Creates what the operations of the reviewer API read and change, so that Schemathesis does not
 * call them with unknown ids only.
 */

import { createHash } from "node:crypto";
import { exchange } from "../demo/adapter.ts";

/** Of each kind: an operation that ends one of them is called several times. */
const COUNT = 20;

const POLICY = "version: 1\nrules: []\n";

const ARGUMENTS_SHA256 = createHash("sha256").update("{}").digest("hex");

interface Created {
  readonly id: string;
  /** Of an invitation. */
  readonly url: string;
}

/**
 * @param agent the credential of an instance
 * @param reviewer the token of an operator
 * @returns ids by the names that review.toml has for them
 */
export async function seedReview(
  url: string,
  agent: string,
  reviewer: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const get = <T>(path: string) => exchange<T>(url, `/review/v1${path}`, reviewer);
  const post = (path: string, body: object) =>
    exchange<Created>(url, `/review/v1${path}`, reviewer, { key: crypto.randomUUID(), body });
  const create = (path: string, body: (count: number) => object) =>
    several((count) => post(path, body(count)));
  const request = (tool: string) =>
    several(() => {
      const body = { tool, arguments: {}, timeout: "1h" };
      return exchange<Created>(url, "/v1/requests", agent, { key: crypto.randomUUID(), body });
    });

  const ended = await request("db.drop");
  const pending = await request("deploy");
  const instances = ids(await create("/instances", (count) => ({ name: `instance ${count}` })));
  await post("/floor", { source: POLICY, expected_number: 0 });
  const proposal = (count: number) => ({ source: `${POLICY}# ${count}`, expected_number: 1 });
  const invitations = await create("/invitations", (count) => ({ name: `user ${count}` }));
  const { reviewers } = await get<{ readonly reviewers: readonly Created[] }>("/reviewers");
  const { entries } = await get<{ readonly entries: readonly Created[] }>("/audit/entries");
  return {
    requests: ids([...ended, ...pending]),
    arguments: [ARGUMENTS_SHA256],
    grants: ids(await create("/grants", () => ({ instance_id: instances[0], tool: "none" }))),
    // Of instances without requests.
    freezes: ids(
      await create("/freezes", (count) => ({
        scope: "instance",
        instance_id: instances[count - 1],
      })),
    ),
    // Not a public address: the server sends nothing there.
    channels: ids(
      await create("/channels", (count) => ({
        name: `channel ${count}`,
        kind: "slack",
        url: "https://192.0.2.1/a",
      })),
    ),
    policy_proposals: ids(await create("/policy/proposals", proposal)),
    floor_proposals: ids(await create("/floor/proposals", proposal)),
    invitations: ids(invitations),
    invitation_tokens: invitations.map((each) => new URL(each.url).hash.slice(1)),
    instances,
    reviewers: ids(reviewers),
    audit_entries: ids(entries),
    policies: [POLICY, `${POLICY}# changed`, "version: 1", "rules: []"],
    numbers: ["1"],
  };
}

async function several(create: (count: number) => Promise<Created>): Promise<readonly Created[]> {
  const created: Created[] = [];
  for (let count = 1; count <= COUNT; count++) created.push(await create(count));
  return created;
}

function ids(created: readonly Created[]): readonly string[] {
  return created.map(({ id }) => id);
}
