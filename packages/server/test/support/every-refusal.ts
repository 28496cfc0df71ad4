/**
 * One real answer for every code that this provider sends.
 */

import {
  JSON_DEPTH_MAX,
  JSON_NUMBER_CHARS_MAX,
  type ProblemCode,
  type WebhookVerification,
} from "@countersign/protocol";
import { SESSION_FRESH_MS } from "../../src/core/session.ts";
import { provokeExtensionRefusals } from "./extension-refusals.ts";
import { startBroken, startExhausted, startUnavailable } from "./failing-providers.ts";
import { ManualClock } from "./manual-clock.ts";
import { callOperation, type Stage, setStage } from "./operation-calls.ts";
import { asPage, callAs, newPerson } from "./people.ts";
import { policySaying, publish } from "./publishing.ts";
import {
  type Answer,
  type Lifetime,
  SUBMISSION,
  startTestProvider,
  type TestProvider,
} from "./test-provider.ts";
import { answerChallenge, startWebhookScene, tryUpdate } from "./webhook-scene.ts";

export interface Refusal {
  readonly answer: Answer;
  /** The input that is wrong; undefined when nothing of the input is. */
  readonly param: string | undefined;
  /** Values that the caller sent and the store holds: the answer must contain none of them. */
  readonly secrets: readonly string[];
}

const DELIVERY = {
  type: "webhook",
  url: "https://receiver.example.com/approvals",
  registration_id: "019cad9c-8813-729c-9c30-e0604515ced9",
  signing_secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
};

/** A port without a listener. */
const SILENT = "https://127.0.0.1:1024/hook";

/** A place that is deeper than this is cut off. */
const PARAM_CHARS_MAX = 200;

type Provoke = (
  server: TestProvider,
  stage: Stage,
) => Promise<readonly [answer: Answer, param?: string]>;

const submit = (server: TestProvider, stage: Stage, body: unknown): Promise<Answer> =>
  callOperation(server, "createApprovalRequest", stage, { body });

const PROVOCATIONS: Readonly<Partial<Record<ProblemCode, Provoke>>> = {
  invalid_request: async (server, stage) => [
    await submit(server, stage, { ...SUBMISSION, timeout: "soon" }),
    "timeout",
  ],
  invalid_json: async (server, stage) => [
    await submit(server, stage, '{"tool":"deploy","arguments":{"a":tru}}'),
    "arguments.a",
  ],
  duplicate_key: async (server, stage) => [
    await submit(server, stage, '{"tool":"deploy","arguments":{"a":1,"a":2},"timeout":"1h"}'),
    "arguments.a",
  ],
  too_deep: async (server, stage) => [
    await submit(server, stage, "[".repeat(JSON_DEPTH_MAX + 1)),
    `${"[0]".repeat(JSON_DEPTH_MAX).slice(0, PARAM_CHARS_MAX)}...`,
  ],
  number_too_long: async (server, stage) => [
    await submit(server, stage, `{"tool":${"9".repeat(JSON_NUMBER_CHARS_MAX + 1)}}`),
    "tool",
  ],
  body_too_large: async (server, stage) => [
    await submit(server, stage, " ".repeat(server.provider.context.settings.bodyBytesMax + 1)),
    "body",
  ],
  unsupported_delivery_type: async (server, stage) => [
    await callOperation(server, "provisionInstance", stage, {
      body: { delivery: { ...DELIVERY, type: "carrier-pigeon" } },
    }),
    "delivery.type",
  ],
  invalid_webhook_url: async (server, stage) => [
    await callOperation(server, "provisionInstance", stage, {
      body: { delivery: { ...DELIVERY, url: "https://user@receiver.example.com/" } },
    }),
    "delivery.url",
  ],
  webhook_verification_failed: async (server, stage) => [
    await callOperation(server, "provisionInstance", stage, {
      body: { delivery: { ...DELIVERY, url: SILENT } },
    }),
    "delivery",
  ],
  method_not_allowed: async (server) => [await server.call("PUT", "/v1/requests")],
  invalid_credential: async (server, stage) => [
    await callOperation(server, "getInstance", stage, { token: `${stage.provisioner}x` }),
  ],
  wrong_credential_kind: async (server, stage) => [
    await callOperation(server, "getInstance", stage, { token: stage.credential }),
  ],
  async forbidden(server, stage) {
    const viewer = await server.token({ kind: "reviewer", name: "viewer", role: "viewer" });
    return [await server.decide(viewer, stage.requestId, "approve")];
  },
  async cross_origin(server) {
    const { cookie = "" } = asPage(await newPerson(server, { login: "ana" }));
    const headers = { cookie, "sec-fetch-site": "cross-site" };
    return [await server.call("DELETE", "/review/v1/session", { headers })];
  },
  async passkey_refused(server) {
    const headers = asPage();
    const body = { answer: { id: "unknown" } };
    return [await server.call("POST", "/review/v1/session/passkey", { headers, body })];
  },
  not_found: async (server, stage) => [
    await callOperation(server, "getInstance", stage, { id: stage.requestId }),
  ],
  async idempotency_conflict(server, stage) {
    await callOperation(server, "provisionInstance", stage, { key: "a key" });
    const change = { key: "a key", body: { instance_name: "other" } };
    return [await callOperation(server, "provisionInstance", stage, change)];
  },
  async already_terminal(server, stage) {
    const reviewer = await server.token({ kind: "reviewer" });
    await server.decide(reviewer, stage.requestId, "deny", { note: "a note of the reviewer" });
    return [await callOperation(server, "cancelApprovalRequest", stage)];
  },
  async instance_deleted(server, stage) {
    const provision = () => callOperation(server, "provisionInstance", stage, { key: "its key" });
    const { json } = (await provision()) as unknown as Answer<{ instance: { id: string } }>;
    await callOperation(server, "deleteInstance", stage, { id: json.instance.id });
    return [await provision()];
  },
  async arguments_mismatch(server, stage) {
    const reviewer = await server.token({ kind: "reviewer" });
    const fields = { arguments_sha256: "0".repeat(64) };
    return [await server.decide(reviewer, stage.requestId, "approve", fields), "arguments_sha256"];
  },
  async sign_in_refused(server) {
    return [await server.call("GET", "/review/v1/session/oidc/callback?code=a&state=b")];
  },
  async policy_conflict(server) {
    const editor = await server.token({ kind: "reviewer", name: "editor", role: "editor" });
    return [await publish(server, editor, policySaying("deny", "x"), 5), "expected_number"];
  },
  async policy_invalid(server) {
    const editor = await server.token({ kind: "reviewer", name: "editor", role: "editor" });
    return [await publish(server, editor, "version: 2", 0), "source"];
  },
};

/** Brings about every refusal that there is, each once. */
export async function provokeEveryRefusal(t: Lifetime): Promise<ReadonlyMap<string, Refusal>> {
  const refusals = new Map<string, Refusal>();
  const settings = {
    body_bytes_max: "10000",
    webhook_allow_cidrs: "127.0.0.0/8",
    oidc_issuer: "https://login.example.com",
    oidc_client_id: "countersign",
    oidc_role_default: "viewer",
  };
  const server = await startTestProvider(t, { settings });
  for (const [code, provoke] of Object.entries(PROVOCATIONS)) {
    const stage = await setStage(server);
    const [answer, param] = await provoke(server, stage);
    refusals.set(code, { answer, param, secrets: secretsOf(server, stage) });
  }
  for (const { code, answer, secrets } of await provokeExtensionRefusals(t)) {
    refusals.set(code, { answer, param: undefined, secrets });
  }
  const stale = await provokeStaleSignIn(t);
  refusals.set("stale_sign_in", { answer: stale, param: undefined, secrets: [] });
  const superseded = await provokeSupersededUpdate(t);
  refusals.set("update_superseded", { answer: superseded, param: undefined, secrets: [] });
  const failingProvider = {
    rate_limited: startExhausted,
    internal: startBroken,
    unavailable: startUnavailable,
  };
  for (const [code, start] of Object.entries(failingProvider)) {
    const { server: sick, stage } = await start(t);
    const answer = await callOperation(sick, "createApprovalRequest", stage);
    refusals.set(code, { answer, param: undefined, secrets: secretsOf(sick, stage) });
  }
  return refusals;
}

/** An invitation by an admin who signed in long ago. */
async function provokeStaleSignIn(t: Lifetime): Promise<Answer> {
  const clock = new ManualClock();
  const server = await startTestProvider(t, { clock });
  const admin = await newPerson(server, { login: "admin", role: "admin" });
  clock.advance(SESSION_FRESH_MS);
  const body = { name: "Bo", role: "reviewer", groups: [] };
  return callAs(server, admin, "POST", "/invitations", { body });
}

/** An update whose receiver is removed while it is being verified. */
async function provokeSupersededUpdate(t: Lifetime): Promise<Answer> {
  const scene = await startWebhookScene(t, {
    onVerification(received, response) {
      const { instance_id: id } = JSON.parse(received.body.toString()) as WebhookVerification;
      void tryUpdate(scene, id, { delivery: null }).then(() => answerChallenge(received, response));
    },
  });
  const { instance } = await scene.server.provision(scene.provisioner);
  return tryUpdate(scene, instance.id, { delivery: scene.delivery() });
}

function secretsOf({ data }: TestProvider, { provisioner, credential }: Stage): readonly string[] {
  const { signing_secret: secret } = DELIVERY;
  return [provisioner, credential, data, secret, "a note of the reviewer", "a key", "its key"];
}
