/**
 * Deliveries of a server that sends nothing. The server writes the notifications; these helpers
 * write the receiver and the outcome of the attempts into its database.
 */

import assert from "node:assert/strict";
import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import { Agent, exchange, makeToken } from "./agents.ts";
import type { Server } from "./countersign.ts";

type Store = Awaited<ReturnType<typeof openContext>>["context"]["store"];

/** Values by column of the table `notification`. */
export type Columns = Readonly<Record<string, string | number | null>>;

export interface Notified {
  readonly agent: Agent;
  readonly instanceId: string;
  readonly reviewer: string;
}

/** Starts the server of these tests with `--webhooks-off`, so that nothing is sent. */
export const SENDS_NOTHING = ["--webhooks-off", "--instance-rate", "0", "--reviewer-rate", "0"];

/** An agent in a project of its own whose instance has a receiver, and a reviewer there. */
export async function newNotified(server: Server, project: string, url: string): Promise<Notified> {
  const provisioner = await makeToken(server.data, { kind: "provisioner", project });
  const instances = `${server.url}/v1/instances`;
  const body = { instance_name: `${project}-bot` };
  const answer = await exchange<{ instance: { id: string }; credential: { token: string } }>(
    "POST",
    instances,
    provisioner,
    body,
    "first",
  );
  assert.equal(answer.status, 201, answer.text);
  const { instance, credential } = answer.json;
  const sql = `insert into receiver
    select project_id, id, $2, 'registration', 'sealed-s3cret', 0 from instance where id = $1`;
  await withStore(server, (store) => store.transact((tx) => tx.run(sql, [instance.id, url])));
  const reviewer = await makeToken(server.data, { kind: "reviewer", project });
  return { agent: new Agent(server.url, credential.token), instanceId: instance.id, reviewer };
}

/** Decides a request. Its notification is as the server wrote it, except for the given columns. */
export async function notify(
  server: Server,
  { agent }: Notified,
  columns: Columns = {},
): Promise<{ readonly id: string; readonly requestId: string }> {
  const { id: requestId } = await agent.submit();
  await agent.cancel(requestId);
  return withStore(server, async (store) => {
    const row = await store.get("select id from notification where request_id = $1", [requestId]);
    assert.ok(row, "no notification was written");
    const names = Object.keys(columns);
    if (names.length > 0) {
      const changes = names.map((name, i) => `${name} = $${i + 2}`).join(", ");
      const sql = `update notification set ${changes} where id = $1`;
      await store.transact((tx) => tx.run(sql, [String(row.id), ...Object.values(columns)]));
    }
    return { id: String(row.id), requestId };
  });
}

/** Opens the store of a server, which may run, wherever its database is. */
export async function withStore<T>(
  { data, env }: Server,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const config = readConfig({ data }, env);
  const opened = await openContext(toSettings(config), toSecrets(config));
  try {
    return await work(opened.context.store);
  } finally {
    await opened.close();
  }
}
