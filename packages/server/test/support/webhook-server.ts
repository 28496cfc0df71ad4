/**
 * `countersign serve` in a process of its own with a real receiver on this machine: what tests
 * about crashes, frozen processes and settings begin with.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ErrorResponse, ProvisionInstanceResponse } from "@countersign/protocol";
import { Agent, type Answer, exchange, makeToken } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { type Server, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import {
  type Notification,
  type NotificationReceiver,
  startNotificationReceiver,
} from "./notification-receiver.ts";
import type { TlsReceiver } from "./tls-receiver.ts";
import { REGISTRATION_ID, SIGNING_SECRET } from "./webhook-scene.ts";

export type { Notification } from "./notification-receiver.ts";

export interface WebhookServer extends NotificationReceiver {
  /** The server that runs now. */
  server: Server;
  readonly provisioner: string;
  /** A proposed delivery to the receiver. */
  readonly delivery: object;
  /** Starts again on the folder, after the server was killed; or beside it on a shared database. */
  restart(): Promise<Server>;
}

export const NO_RATES = [
  "--instance-rate",
  "0",
  "--webhook-account-rate",
  "0",
  "--webhook-host-rate",
  "0",
  "--webhook-address-rate",
  "0",
];

/** Ends with the test. */
export async function startWebhookServer(
  t: TestContext,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<WebhookServer> {
  const notified = await startNotificationReceiver(t);
  const { receiver } = notified;
  const folder = temporaryFolder(t);
  const options = {
    args,
    data: join(folder, "data"),
    env: { ...trusting(folder, receiver), COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8", ...env },
  };
  const server = await startServer(t, options);
  const webhooks: WebhookServer = Object.assign(notified, {
    server,
    provisioner: await makeToken(server.data, { kind: "provisioner" }, env),
    delivery: deliveryTo(receiver.url("/hook")),
    async restart() {
      webhooks.server = await startServer(t, options);
      return webhooks.server;
    },
  });
  return webhooks;
}

/** The environment of a server that trusts the receiver's certificate. */
export function trusting(
  folder: string,
  { certificate }: Pick<TlsReceiver, "certificate">,
): Readonly<Record<string, string>> {
  const file = join(folder, `${randomUUID()}.pem`);
  writeFileSync(file, certificate);
  return { NODE_EXTRA_CA_CERTS: file };
}

export function deliveryTo(url: string): object {
  return {
    type: "webhook",
    url,
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
}

/** Proposes a receiver for a new instance and answers whatever comes back. */
export function tryProvisioning(
  { url }: Pick<Server, "url">,
  provisioner: string,
  delivery: object,
  key: string = randomUUID(),
): Promise<Answer<ProvisionInstanceResponse & ErrorResponse>> {
  return exchange("POST", `${url}/v1/instances`, provisioner, { delivery }, key);
}

/** An agent with a receiver that is notified of its decisions. */
export async function newNotifiedAgent(webhooks: WebhookServer): Promise<Agent> {
  const { server, provisioner, delivery } = webhooks;
  const { status, text, json } = await tryProvisioning(server, provisioner, delivery);
  assert.equal(status, 201, text);
  return new Agent(server.url, json.credential.token);
}

/** @returns id of a request whose decision has been answered */
export async function decided(agent: Agent): Promise<string> {
  const { id } = await agent.submit();
  await agent.cancel(id);
  return id;
}

/** Waits for the notification with this ordinal, from 1. */
export async function arrived(webhooks: WebhookServer, ordinal: number): Promise<Notification> {
  return eventually(`notification ${ordinal}`, () => webhooks.notifications[ordinal - 1]);
}

/** Waits until the server has nothing left to deliver. */
export async function untilNothingWaits({ server }: WebhookServer): Promise<void> {
  await eventually("nothing that waits for delivery", async () => {
    const { text } = await exchange("GET", `${server.url}/metrics`);
    return /^countersign_deliveries_waiting 0$/m.test(text) ? true : undefined;
  });
}
