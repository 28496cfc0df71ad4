/**
 * A server that holds a secret of every kind, and who looks for them in what it says.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeSetupLink } from "../../../server/src/operations/sign-in/makeSetupLink.ts";
import { decideAndAttempt } from "../../../server/test/support/deliveries.ts";
import { PASSWORD } from "../../../server/test/support/page-scene.ts";
import { callAs } from "../../../server/test/support/people.ts";
import { PushBrowser } from "../../../server/test/support/push-browser.ts";
import type { Lifetime, TestProvider } from "../../../server/test/support/test-provider.ts";
import { startTlsReceiver } from "../../../server/test/support/tls-receiver.ts";
import {
  OTHER_SECRET,
  provisionWithReceiver,
  SIGNING_SECRET,
  startWebhookScene,
  type WebhookScene,
} from "../../../server/test/support/webhook-scene.ts";

export interface SecretScene extends WebhookScene {
  readonly instance: { readonly id: string; readonly token: string };
  /** By what it is. */
  readonly secrets: Map<string, string>;
}

const SET = {
  "password of the mail server": "mailpass-6f1c9a",
  "client secret of the provider": "oidc-secret-77ab31",
  "path of a receiver": "hookpath-52d0e8",
  "query of a receiver": "hookquery-9b1f44",
  "path of a Slack channel": "slackpath-03c7aa",
  "topic of ntfy": "topic-e41d90",
  "token of ntfy": "tk_ntfy_88f2b6",
  "path of a webhook channel": "channelpath-1d9e50",
  "endpoint of a browser": "endpoint-b7a230",
} as const;

/** A server with a secret of every kind, and with a failing delivery and failing channels. */
export async function startSecretScene(t: Lifetime): Promise<SecretScene> {
  const environment = {
    COUNTERSIGN_SMTP_URL: `smtp://user:${SET["password of the mail server"]}@mail.example:587`,
    COUNTERSIGN_OIDC_CLIENT_SECRET: SET["client secret of the provider"],
  };
  const scene = await startWebhookScene(t, {
    environment,
    settings: {
      smtp_from: "countersign@example.com",
      oidc_issuer: "https://id.example",
      oidc_client_id: "countersign",
      oidc_role_default: "viewer",
    },
    onNotification: (_, response) => response.writeHead(500).end(),
  });
  const { server, receiver } = scene;
  const setUp = await makeSetupLink(server.provider.context, "default");
  const path = `/${SET["path of a receiver"]}?key=${SET["query of a receiver"]}`;
  const instance = await provisionWithReceiver(scene, { url: receiver.url(path) });
  await decideAndAttempt({ ...scene, instance, answer: () => {} });
  const admin = await server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const make = async (place: string, body: object) => {
    const answer = await server.call<{ url?: string }>("POST", `/review/v1/${place}`, {
      token: admin,
      body,
    });
    assert.equal(answer.status, 201, answer.text);
    return answer.json;
  };
  // A receiver with an untrusted certificate: the page shows the failure as well.
  const tlsReceiver = await startTlsReceiver(t, (_, response) => response.writeHead(204).end());
  const to = (path: string) => ({ url: tlsReceiver.url(`/${path}`) });
  await make("channels", { name: "a", kind: "slack", ...to(SET["path of a Slack channel"]) });
  const topic = { ...to(SET["topic of ntfy"]), token: SET["token of ntfy"] };
  await make("channels", { name: "b", kind: "ntfy", ...topic });
  const hook = { ...to(SET["path of a webhook channel"]), signing_secret: OTHER_SECRET };
  await make("channels", { name: "c", kind: "webhook", ...hook });
  await make("channels", { name: "d", kind: "email", to: ["ops@example.com"] });
  const invitation = await make("invitations", { name: "Bo", role: "reviewer", groups: [] });
  const secrets = new Map<string, string>(Object.entries(SET));
  for (const [what, secret] of [
    ["signing secret of a receiver", SIGNING_SECRET],
    ["signing secret of a channel", OTHER_SECRET],
    ["credential of an instance", instance.token],
    ["token of a provisioner", scene.provisioner],
    ["token of a reviewer", scene.reviewer],
    ["token of an admin", admin],
    ["link of the setup", setUp],
    ["link of an invitation", invitation.url?.split("#")[1] ?? ""],
    ["password of a person", PASSWORD],
    ["secret key", readFileSync(join(server.data, "secret.key"), "utf8").trim()],
    ["private key in text", "PRIVATE KEY"],
  ] as const) {
    assert.ok(secret.length > 8, what);
    secrets.set(what, secret);
  }
  return { ...scene, instance, secrets };
}

/** Adds the browser's own secrets, and a push endpoint. */
export async function addBrowser(
  { server, secrets, receiver }: SecretScene,
  page: Page,
): Promise<void> {
  const cookies = await page.context().cookies();
  const { value = "" } = cookies.find(({ name }) => name === "__Host-countersign") ?? {};
  assert.ok(value.length > 20);
  secrets.set("cookie of a session", value);
  const browser = new PushBrowser(receiver.url(`/push/${SET["endpoint of a browser"]}`));
  const { endpoint, keys } = browser.toJSON() as { endpoint: string; keys: { auth: string } };
  secrets.set("key of a browser", keys.auth);
  const body = { endpoint, keys, name: "Phone" };
  const answer = await callAs(server, { cookie: value }, "POST", "/account/push", { body });
  assert.equal(answer.status, 201, answer.text);
}

/** Columns that must never be displayed. */
const HIDDEN_COLUMN = /^sealed_(?!id|at)|_hash$/;

/** Encrypted and hashed values: these must not leave the server either. */
export async function storedSecrets({
  provider: {
    context: { store },
  },
}: TestProvider): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const tables = await store.all("select name from sqlite_master where type = 'table'");
  for (const { name } of tables) {
    for (const row of await store.all(`select * from ${String(name)}`)) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value !== "string" || !HIDDEN_COLUMN.test(column)) continue;
        found.set(`${String(name)}.${column} ${found.size}`, value);
      }
    }
  }
  return found;
}

/** @returns which of the secrets a text holds, and where */
export function findSecrets(
  secrets: ReadonlyMap<string, string>,
  texts: ReadonlyMap<string, string>,
): string[] {
  return [...texts].flatMap(([where, text]) =>
    [...secrets].flatMap(([what, secret]) =>
      [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)].some((spelling) =>
        text.includes(spelling),
      )
        ? `${what} in ${where}`
        : [],
    ),
  );
}
