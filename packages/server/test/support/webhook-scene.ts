/**
 * A provider with a real receiver over TLS: what most tests about webhooks begin with. The
 * receiver proves itself to every verification and answers notifications as the test specifies.
 */

import assert from "node:assert/strict";
import type {
  ErrorResponse,
  Instance,
  ProvisionInstanceResponse,
  RequestResolvedEvent,
  WebhookVerification,
} from "@countersign/protocol";
import { ManualClock } from "./manual-clock.ts";
import {
  type Answer,
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "./test-provider.ts";
import {
  type AnswerMessage,
  type Received,
  startTlsReceiver,
  type TlsReceiver,
} from "./tls-receiver.ts";
import { until } from "./until.ts";

export const SIGNING_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const OTHER_SECRET = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

export const REGISTRATION_ID = "5f6c1c0e-7a0e-4b9e-9d43-0f9a8f1f1c11";

/** The clock may be stopped, so a rate would never refill. */
const NO_RATES = {
  instance_rate: "0",
  account_submission_rate: "0",
  provisioner_rate: "0",
  reviewer_rate: "0",
  unauthenticated_rate: "0",
  webhook_account_rate: "0",
  webhook_host_rate: "0",
  webhook_address_rate: "0",
  webhook_account_verifications: "0",
  webhook_host_verifications: "0",
};

export interface WebhookScene {
  readonly server: TestProvider;
  readonly clock: ManualClock;
  readonly receiver: TlsReceiver;
  readonly provisioner: string;
  readonly reviewer: string;
  /** Notifications that arrived so far, without verifications. */
  readonly notifications: readonly Received[];
  /** A proposed delivery to the receiver. */
  delivery(fields?: object): object;
}

export interface WebhookSceneOptions extends TestProviderOptions {
  readonly clock?: ManualClock;
  /** How notifications are answered; 204 without it. */
  readonly onNotification?: AnswerMessage;
  /** How verifications are answered; with the challenge without it. */
  readonly onVerification?: AnswerMessage;
}

export async function startWebhookScene(
  t: Lifetime,
  options: WebhookSceneOptions = {},
): Promise<WebhookScene> {
  const { clock = new ManualClock(), settings, onNotification, onVerification, ...rest } = options;
  const notifications: Received[] = [];
  const receiver = await startTlsReceiver(t, (received, response) => {
    if (typeOf(received) === "webhook.verification") {
      (onVerification ?? answerChallenge)(received, response);
      return;
    }
    notifications.push(received);
    if (onNotification === undefined) response.writeHead(204).end();
    else onNotification(received, response);
  });
  const server = await startTestProvider(t, {
    ca: [receiver.certificate],
    ...rest,
    clock,
    settings: { ...NO_RATES, webhook_allow_cidrs: "127.0.0.0/8", ...settings },
  });
  return {
    server,
    clock,
    receiver,
    notifications,
    provisioner: await server.token({ kind: "provisioner" }),
    reviewer: await server.token({ kind: "reviewer" }),
    delivery: (fields = {}) => ({
      type: "webhook",
      url: receiver.url("/hook?team=a"),
      registration_id: REGISTRATION_ID,
      signing_secret: SIGNING_SECRET,
      ...fields,
    }),
  };
}

/** The answer of a receiver that has the registration and checked the signature. */
export const answerChallenge: AnswerMessage = (received, response) => {
  const { challenge } = JSON.parse(received.body.toString()) as WebhookVerification;
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ challenge }));
};

export function typeOf({ body }: Received): string | undefined {
  return (JSON.parse(body.toString()) as { type?: string }).type;
}

export function eventOf({ body }: Received): RequestResolvedEvent {
  return JSON.parse(body.toString()) as RequestResolvedEvent;
}

/** Sends a provisioning and answers whatever comes back. */
export function tryProvision(
  { server, provisioner }: Pick<WebhookScene, "server" | "provisioner">,
  delivery: unknown,
  key = server.freshKey(),
): Promise<Answer<ProvisionInstanceResponse & ErrorResponse>> {
  return server.call("POST", "/v1/instances", { token: provisioner, key, body: { delivery } });
}

/** A new instance whose receiver is the scene's. */
export async function provisionWithReceiver(
  scene: WebhookScene,
  fields: object = {},
): Promise<{ readonly id: string; readonly token: string }> {
  const answer = await tryProvision(scene, scene.delivery(fields));
  assert.equal(answer.status, 201, answer.text);
  return { id: answer.json.instance.id, token: answer.json.credential.token };
}

/** Sends an update and answers whatever comes back. */
export function tryUpdate(
  { server, provisioner }: Pick<WebhookScene, "server" | "provisioner">,
  id: string,
  body: object,
  key = server.freshKey(),
): Promise<Answer<Instance & ErrorResponse>> {
  return server.call("PATCH", `/v1/instances/${id}`, { token: provisioner, key, body });
}

/** Lets the workers do what is due, at the clock's time, until the condition holds. */
export async function untilDelivered(
  { clock }: Pick<WebhookScene, "clock">,
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  await until(async () => {
    clock.advance(0);
    return condition();
  }, what);
}

/** A row of the outbox as it is stored. */
export interface OutboxRow {
  readonly project_id: string;
  readonly id: string;
  readonly request_id: string;
  readonly body: string;
  readonly created_at: number;
  readonly next_at: number | null;
  readonly claimed_until: number | null;
  readonly attempts: number;
  readonly last_at: number | null;
  readonly last_outcome: string | null;
  readonly last_status: number | null;
  readonly ended_at: number | null;
  readonly ended_by: string | null;
}

export async function outbox({ server }: Pick<WebhookScene, "server">): Promise<OutboxRow[]> {
  const sql = "select * from notification order by created_at, id";
  const rows = await server.provider.context.store.all(sql);
  return rows as unknown as OutboxRow[];
}
