/**
 * `countersign serve` in a process of its own with a real receiver on this machine: what tests
 * about crashes, frozen processes and settings begin with.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type {
  ErrorResponse,
  ProvisionInstanceResponse,
  RequestResolvedEvent,
} from "@countersign/protocol";
import { temporaryFolder } from "countersign/test/support/child.ts";
import { type Server, startServer } from "countersign/test/support/countersign.ts";
import { eventually } from "countersign/test/support/eventually.ts";
import { Agent, type Answer, exchange, makeToken } from "countersign/test/support/people.ts";
import {
  type AnswerMessage,
  type Received,
  startTlsReceiver,
  type TlsReceiver,
} from "./tls-receiver.ts";
import { answerChallenge, REGISTRATION_ID, SIGNING_SECRET, typeOf } from "./webhook-scene.ts";

/** A notification as it arrived, and the exchange in which it may still wait for its answer. */
export interface Notification {
  readonly event: RequestResolvedEvent;
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** Resolves once the answer is handed to the operating system. */
  answer(status: number): Promise<void>;
  /** The server has cut the connection, or has the answer. */
  readonly over: Promise<void>;
}

export interface WebhookServer {
  /** The server that runs now. */
  server: Server;
  readonly receiver: TlsReceiver;
  readonly provisioner: string;
  /** All that have arrived, in order, whichever server sent them. */
  readonly notifications: readonly Notification[];
  /** The most exchanges that were open at one time for one event. */
  readonly openAtOnceMax: number;
  /** What the receiver does with a notification; 204 to begin with. */
  onNotification: (notification: Notification) => void;
  /** What the receiver does with a verification; it proves itself to begin with. */
  onVerification: AnswerMessage;
  /** A proposed delivery to the receiver. */
  readonly delivery: object;
  /** Starts again on the folder, after the server was killed; or beside it on a shared database. */
  restart(): Promise<Server>;
}

export const NO_RATES = [
  ...["--instance-rate", "0", "--webhook-account-rate", "0", "--webhook-host-rate", "0"],
  ...["--webhook-address-rate", "0"],
];

/** Ends with the test. */
export async function startWebhookServer(
  t: TestContext,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<WebhookServer> {
  const notifications: Notification[] = [];
  const open = new Map<string, number>();
  let openAtOnceMax = 0;
  const receiver = await startTlsReceiver(t, (received, response) => {
    if (typeOf(received) === "webhook.verification") {
      webhooks.onVerification(received, response);
      return;
    }
    const notification = toNotification(received, response);
    const { id, over } = notification;
    open.set(id, (open.get(id) ?? 0) + 1);
    openAtOnceMax = Math.max(openAtOnceMax, open.get(id) ?? 0);
    over.then(() => open.set(id, (open.get(id) ?? 0) - 1));
    notifications.push(notification);
    webhooks.onNotification(notification);
  });
  const folder = temporaryFolder(t);
  const options = {
    args,
    data: join(folder, "data"),
    env: { ...trusting(folder, receiver), COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8", ...env },
  };
  const server = await startServer(t, options);
  const webhooks: WebhookServer = {
    server,
    receiver,
    provisioner: await makeToken(server.data, { kind: "provisioner" }, env),
    notifications,
    get openAtOnceMax() {
      return openAtOnceMax;
    },
    onNotification: ({ answer }) => void answer(204),
    onVerification: answerChallenge,
    delivery: deliveryTo(receiver.url("/hook")),
    async restart() {
      webhooks.server = await startServer(t, options);
      return webhooks.server;
    },
  };
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

/** An agent whose decisions the receiver is told of. */
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

function toNotification(received: Received, response: Parameters<AnswerMessage>[1]): Notification {
  const body = received.body.toString();
  const over = new Promise<void>((resolve) => response.once("close", () => resolve()));
  return {
    event: JSON.parse(body) as RequestResolvedEvent,
    id: String(received.headers["webhook-id"]),
    body,
    over,
    answer(status) {
      return new Promise((resolve) => {
        response.writeHead(status).end(() => resolve());
      });
    },
  };
}
