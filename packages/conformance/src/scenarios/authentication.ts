/** Permissions: every operation with every credential that does not permit it. */

import type { OperationName } from "@countersign/protocol";
import type { Call } from "../client/client.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, type OwnInstance, SUBMISSION } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { callsOfAll } from "./service.ts";

const INSTANCE_OPERATIONS: readonly OperationName[] = [
  "provisionInstance",
  "getInstance",
  "updateInstance",
  "deleteInstance",
];

/** Every operation, changed before it is sent, is answered with this status. */
async function expectOfAll(
  kit: Kit,
  status: number,
  rule: RequirementId,
  change: (call: Call, operation: OperationName) => Call | undefined,
): Promise<void> {
  const instance = await kit.provision();
  for (const [operation, call] of await callsOfAll(kit, instance)) {
    const changed = change(call, operation);
    if (changed === undefined) continue;
    const isNew = operation === "provisionInstance";
    const answer = await (isNew ? kit.tryProvision(changed) : kit.call(operation, changed));
    expectRefusal(answer, status, rule);
  }
  // The rejected operation had no effect.
  const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
  expectStatus(read, 200, rule);
  expect(read.instance?.name === instance.name, rule, "the refused update was applied");
}

function withoutToken({ token: _, ...call }: Call): Call {
  return call;
}

/** A text of the same form that is not it: its last letters are exchanged. */
function spoiled(token: string): string {
  const last = token.slice(-6);
  const other = [...last].map((letter) => (letter === "A" ? "B" : "A")).join("");
  return token.slice(0, -6) + other;
}

async function twoInstances(kit: Kit): Promise<readonly [OwnInstance, OwnInstance]> {
  return [await kit.provision(), await kit.provision()];
}

export const AUTHENTICATION: readonly Scenario[] = [
  scenario(
    "authentication.missing",
    "Without a credential every operation is a 401",
    ["auth.missing"],
    (kit) => expectOfAll(kit, 401, "auth.missing", withoutToken),
  ),
  scenario(
    "authentication.invalid",
    "With an unknown credential every operation is a 401",
    ["auth.invalid"],
    async (kit) => {
      const rule = "auth.invalid";
      await expectOfAll(kit, 401, rule, ({ token = "", ...call }) => {
        return { ...call, token: spoiled(token) };
      });
      const { id } = await kit.provision();
      for (const token of ["x", "null", "undefined", kit.key(), ` ${kit.provisioner}x`]) {
        expectRefusal(await kit.call("getInstance", { token, id }), 401, rule);
      }
    },
  ),
  scenario(
    "authentication.bearer",
    "A credential is accepted only in Authorization: Bearer",
    ["auth.bearer"],
    async (kit) => {
      const basic = `Basic ${Buffer.from(`x:${kit.provisioner}`).toString("base64")}`;
      const elsewhere = (token: string): readonly Readonly<Record<string, string>>[] => [
        { authorization: basic },
        { authorization: token },
        { authorization: `Token ${token}` },
        { "x-api-key": token },
        { cookie: `token=${token}` },
      ];
      const { id } = await kit.provision();
      for (const headers of elsewhere(kit.provisioner)) {
        const answer = await kit.call("getInstance", { id, headers });
        expectRefusal(answer, 401, "auth.bearer");
      }
      const query = `?access_token=${encodeURIComponent(kit.provisioner)}`;
      const answer = await kit.client.callRaw("getInstance", { id, query });
      expect(answer.status !== 200, "auth.bearer", "a token in the query counts");
    },
  ),
  scenario(
    "authentication.provisioner-kind",
    "A provisioner token on an approval operation is a 403",
    ["auth.provisioner.not-requests"],
    (kit) =>
      expectOfAll(kit, 403, "auth.provisioner.not-requests", (call, operation) => {
        if (INSTANCE_OPERATIONS.includes(operation)) return undefined;
        return { ...call, token: kit.provisioner };
      }),
  ),
  scenario(
    "authentication.instance-kind",
    "An instance credential on an instance operation is a 403, at its own instance too",
    ["auth.instance.not-instances"],
    async (kit) => {
      const rule = "auth.instance.not-instances";
      const instance = await kit.provision();
      const { token, id } = instance;
      const body = { instance_name: "Mine" };
      const create = { token, key: kit.key(), body };
      expectRefusal(await kit.tryProvision(create), 403, rule);
      expectRefusal(await kit.call("getInstance", { token, id }), 403, rule);
      const update = await kit.call("updateInstance", { token, id, key: kit.key(), body });
      expectRefusal(update, 403, rule);
      expectRefusal(await kit.call("deleteInstance", { token, id }), 403, rule);
      const read = await kit.call("getInstance", { token: kit.provisioner, id });
      expectStatus(read, 200, rule);
      expect(read.instance?.name === instance.name, rule, "the refused update was applied");
    },
  ),
  scenario(
    "authentication.own-requests",
    "An instance cannot read the requests of another instance",
    ["auth.instance.own-requests", "request.read.unknown"],
    async (kit) => {
      const [one, other] = await twoInstances(kit);
      const { id } = await kit.submit(one);
      for (const query of ["", "?wait=1s"]) {
        const call = { token: other.token, id, query };
        const answer = await kit.call("getApprovalRequest", call);
        expectRefusal(answer, 404, "auth.instance.own-requests");
      }
    },
  ),
  scenario(
    "authentication.creator-cancels",
    "An instance cannot cancel the requests of another instance",
    ["request.cancel.creator-only", "auth.instance.own-requests"],
    async (kit) => {
      const [one, other] = await twoInstances(kit);
      const { id } = await kit.submit(one);
      const rule = "request.cancel.creator-only";
      expectRefusal(await kit.cancel(other, id), 404, rule);
      const { status } = await kit.read(one, id);
      expect(status === "pending", rule, `it is ${status} after another instance's attempt`);
    },
  ),
  scenario(
    "authentication.identity",
    "The credential alone determines the owner of a request, not the submitted fields",
    ["auth.instance.identity", "scalar.context.identity"],
    async (kit) => {
      const [one, other] = await twoInstances(kit);
      const context = { instance_id: other.id, instance: { id: other.id, name: other.name } };
      const body = { ...SUBMISSION, arguments: { instance_id: other.id }, context };
      const headers = { "x-instance-id": other.id };
      const call = { token: one.token, key: kit.key(), body, headers };
      const answer = await kit.call("createApprovalRequest", call);
      expectStatus(answer, 201, "auth.instance.identity");
      const { id = "" } = answer.request ?? {};
      const read = await kit.call("getApprovalRequest", { token: other.token, id });
      expectRefusal(read, 404, "scalar.context.identity");
      await kit.read(one, id);
    },
  ),
  scenario(
    "authentication.scope",
    "A provisioner cannot access an instance of another scope",
    ["auth.provisioner.scope"],
    async (kit) => {
      const rule = "auth.provisioner.scope";
      const instance = await kit.provision();
      const call = { token: kit.otherProvisioner, id: instance.id };
      expectRefusal(await kit.call("getInstance", call), 404, rule);
      const body = { instance_name: "Taken" };
      const update = await kit.call("updateInstance", { ...call, key: kit.key(), body });
      expectRefusal(update, 404, rule);
      expectRefusal(await kit.call("deleteInstance", call), 404, rule);
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectStatus(read, 200, rule);
      expect(read.instance?.name === instance.name, rule, "the other provisioner changed it");
    },
    { needs: ["other-provisioner"] },
  ),
];
