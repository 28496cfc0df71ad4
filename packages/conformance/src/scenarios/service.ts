/** Rules for the provider as a whole: addresses, paths, keys, bodies. */

import { randomUUID } from "node:crypto";
import { OPERATIONS, type OperationName } from "@countersign/protocol";
import type { Call } from "../client/client.ts";
import { expectRefusal, expectStatus, type Kit, type OwnInstance, SUBMISSION } from "../kit.ts";
import { isLoopback } from "../receiver/receiver.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** A call of every operation that would succeed, on one instance and a pending request of it. */
export async function callsOfAll(
  kit: Kit,
  instance: OwnInstance,
): Promise<readonly (readonly [OperationName, Call])[]> {
  const { id: requestId } = await kit.submit(instance);
  const { token, id } = instance;
  const provisioner = kit.provisioner;
  const body = { instance_name: "Renamed" };
  // Deleting comes last: the others need what it deletes.
  return [
    ["getInstance", { token: provisioner, id }],
    ["updateInstance", { token: provisioner, id, key: kit.key(), body }],
    ["createApprovalRequest", { token, key: kit.key(), body: SUBMISSION }],
    ["getApprovalRequest", { token, id: requestId }],
    ["cancelApprovalRequest", { token, id: requestId }],
    ["provisionInstance", { token: provisioner, key: kit.key(), body: {} }],
    ["deleteInstance", { token: provisioner, id }],
  ];
}

/** Of each kind, at the same time. */
const EXCHANGES = 5;

export const SERVICE: readonly Scenario[] = [
  scenario(
    "service.operations",
    "All seven operations answer where the contract puts them",
    ["service.operations.seven", "exchange.request-id", "exchange.content-type"],
    async (kit) => {
      const calls = await callsOfAll(kit, await kit.provision());
      for (const [operation, call] of calls) {
        const isNew = operation === "provisionInstance";
        const answer = await (isNew ? kit.tryProvision(call) : kit.call(operation, call));
        expectStatus(answer, OPERATIONS[operation].success[0], "service.operations.seven");
      }
    },
  ),
  scenario(
    "service.exchange-ids",
    "Every exchange has an id of its own, also when the same thing is asked again",
    ["exchange.request-id", "error.envelope.request-id"],
    async (kit) => {
      const instance = await kit.provision();
      const ask = () => kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      const refuse = () => kit.call("getInstance", { token: kit.provisioner, id: randomUUID() });
      const exchanges = Array.from({ length: EXCHANGES }, () => [ask(), refuse()]).flat();
      // The client holds each id against all others of the run.
      await Promise.all(exchanges);
    },
  ),
  scenario(
    "service.own-exchange-id",
    "An X-Request-ID that a caller sends does not become that of the exchange twice",
    ["exchange.request-id"],
    async (kit) => {
      const headers = { "x-request-id": randomUUID() };
      const { id } = await kit.provision();
      for (let times = 0; times < 2; times++) {
        await kit.call("getInstance", { token: kit.provisioner, id, headers });
      }
    },
  ),
  scenario(
    "service.https",
    "Outside of local development the provider is reached over HTTPS",
    ["service.https.required"],
    async (kit) => {
      const { protocol, hostname } = new URL(kit.options.baseUrl);
      const isLocal = isLoopback(hostname.replace(/^\[|\]$/g, ""));
      const message = "the base address is http and not that of this machine";
      expect(protocol === "https:" || isLocal, "service.https.required", message);
    },
  ),
  scenario(
    "service.prefix",
    "Without /v1 there is no operation",
    ["version.prefix"],
    async (kit) => {
      const headers = { authorization: `Bearer ${kit.provisioner}`, "idempotency-key": kit.key() };
      for (const path of ["/instances", "/v2/instances"]) {
        const call = { method: "POST", path, body: "{}" };
        const json = { "content-type": "application/json" };
        const { status } = await kit.client.exchange({ ...call, headers: { ...headers, ...json } });
        const isThere = status >= 200 && status < 300;
        expect(!isThere, "version.prefix", `POST ${path} answered ${status}`);
      }
    },
  ),
  scenario(
    "service.path-id",
    "A path id that is not an identifier is rejected",
    ["exchange.path-id"],
    async (kit) => {
      const rule = "exchange.path-id";
      const instance = await kit.provision();
      const { token } = instance;
      const [provisioner, body] = [kit.provisioner, { instance_name: "x" }];
      for (const id of ["x", "0", "%00", `${randomUUID()}0`]) {
        const [read, update] = [
          await kit.call("getInstance", { token: provisioner, id }),
          await kit.call("updateInstance", { token: provisioner, id, key: kit.key(), body }),
        ];
        expectRefusal(read, 404, rule);
        expectRefusal(update, [404, 400], rule);
        expectRefusal(await kit.call("deleteInstance", { token: provisioner, id }), 404, rule);
        expectRefusal(await kit.call("getApprovalRequest", { token, id }), [404, 400], rule);
        expectRefusal(await kit.call("cancelApprovalRequest", { token, id }), 404, rule);
      }
    },
  ),
  scenario(
    "service.key-of-one-character",
    "A key of one character is enough",
    ["limit.key.one-character"],
    async (kit) => {
      const rule = "limit.key.one-character";
      const instance = await kit.provision();
      const { token, id } = instance;
      const call = { token, key: "k", body: SUBMISSION };
      expectStatus(await kit.call("createApprovalRequest", call), 201, rule);
      const update = { token: kit.provisioner, id, key: "k", body: { instance_name: "One" } };
      expectStatus(await kit.call("updateInstance", update), 200, rule);
    },
  ),
  scenario(
    "service.malformed",
    "A body that is not JSON returns 400 with the error envelope",
    ["error.malformed"],
    async (kit) => {
      const instance = await kit.provision();
      const { id, token } = instance;
      const bad = ["{", '{"tool":}', "{'tool':'x'}", '{"tool":"x",}', "\u0000", "NaN", '{"a":01}'];
      // Bytes that are not valid UTF-8.
      for (const body of [...bad, Buffer.from('{"tool":"\xff"}', "latin1")]) {
        const create = { token, key: kit.key(), body };
        expectRefusal(await kit.call("createApprovalRequest", create), 400, "error.malformed");
        const update = { token: kit.provisioner, id, key: kit.key(), body };
        expectRefusal(await kit.call("updateInstance", update), 400, "error.malformed");
      }
    },
  ),
  scenario(
    "service.synchronous-only",
    "A provider without asynchronous mode refuses every delivery, and says so",
    ["service.delivery.synchronous-only"],
    async (kit) => {
      const rule = "service.delivery.synchronous-only";
      const code = "unsupported_delivery_type";
      const delivery = {
        type: "webhook",
        url: "https://example.com/hook",
        registration_id: randomUUID(),
        signing_secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
      };
      const call = { token: kit.provisioner, key: kit.key(), body: { delivery } };
      expectRefusal(await kit.tryProvision(call), 400, rule, code);
      const { id } = await kit.provision();
      const update = await kit.call("updateInstance", { ...call, id, key: kit.key() });
      expectRefusal(update, 400, rule, code);
    },
    { mode: "synchronous-only" },
  ),
];
