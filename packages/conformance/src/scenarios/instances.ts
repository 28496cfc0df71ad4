/** Reading, updating and deleting instances that have no receiver. */

import { randomUUID } from "node:crypto";
import {
  expectRefusal,
  expectStatus,
  instanceOf,
  type Kit,
  type OwnInstance,
  SUBMISSION,
} from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** How many are sent at the same time, where one may win. */
const CONTENDERS = 6;

function update(kit: Kit, id: string, body: unknown, key = kit.key()) {
  return kit.call("updateInstance", { token: kit.provisioner, id, key, body });
}

async function nameOf(kit: Kit, { id }: OwnInstance): Promise<string> {
  const answer = await kit.call("getInstance", { token: kit.provisioner, id });
  expectStatus(answer, 200, "endpoints.read-instance");
  return instanceOf(answer).name;
}

export const INSTANCES: readonly Scenario[] = [
  scenario(
    "instance.read",
    "Reading an instance answers it, without a delivery when there is no receiver",
    ["endpoints.read-instance", "resources.instance.shape", "resources.instance.delivery"],
    async (kit) => {
      const { id, name } = await kit.provision({ instance_name: "Read me" });
      const answer = await kit.call("getInstance", { token: kit.provisioner, id });
      expectStatus(answer, 200, "endpoints.read-instance");
      const instance = instanceOf(answer);
      const isSame = instance.id === id && instance.name === name;
      expect(isSame, "endpoints.read-instance", "it is not what was provisioned");
      const rule = "resources.instance.delivery";
      expect(instance.delivery === undefined, rule, "there is a delivery without a receiver");
    },
  ),
  scenario(
    "instance.unknown",
    "An instance that never was cannot be read, updated or deleted",
    ["endpoints.read-instance.unknown", "endpoints.update.unknown", "endpoints.delete.unknown"],
    async (kit) => {
      const id = randomUUID();
      const read = await kit.call("getInstance", { token: kit.provisioner, id });
      expectRefusal(read, 404, "endpoints.read-instance.unknown");
      const renamed = await update(kit, id, { instance_name: "x" });
      expectRefusal(renamed, 404, "endpoints.update.unknown");
      expectRefusal(await kit.deleteInstance(id), 404, "endpoints.delete.unknown");
      // Asking for what is not there does not make it.
      const again = await kit.call("getInstance", { token: kit.provisioner, id });
      expectRefusal(again, 404, "endpoints.read-instance.unknown");
    },
  ),
  scenario(
    "instance.update",
    "An update answers the instance as it is now, and reads show it",
    ["endpoints.update"],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Before" });
      const answer = await update(kit, instance.id, { instance_name: "After" });
      expectStatus(answer, 200, "endpoints.update");
      const { id, name } = instanceOf(answer);
      const isNow = id === instance.id && name === "After";
      expect(isNow, "endpoints.update", `${answer.what}: the name is ${JSON.stringify(name)}`);
      expect((await nameOf(kit, instance)) === "After", "endpoints.update", "a read shows it not");
    },
  ),
  scenario(
    "instance.update.key-required",
    "An update without a key, or with an empty one, is refused and changes nothing",
    ["endpoints.update.key-required", "states.instance.update.refused"],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Kept" });
      const body = { instance_name: "Changed" };
      const call = { token: kit.provisioner, id: instance.id, body };
      const rule = "endpoints.update.key-required";
      expectRefusal(await kit.call("updateInstance", call), 400, rule);
      expectRefusal(await kit.call("updateInstance", { ...call, key: "" }), 400, rule);
      const isKept = (await nameOf(kit, instance)) === "Kept";
      expect(isKept, "states.instance.update.refused", "the name has changed");
    },
  ),
  scenario(
    "instance.update.fields",
    "An update with a wrong field, an unknown one or none is refused and changes nothing",
    [
      "resources.update.name",
      "resources.update.additional",
      "resources.update.not-empty",
      "states.instance.update.refused",
    ],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Kept" });
      for (const name of ["", null, 7, []]) {
        const answer = await update(kit, instance.id, { instance_name: name });
        expectRefusal(answer, 400, "resources.update.name");
      }
      for (const body of [{ instance_name: "x", more: 1 }, { name: "x" }]) {
        const answer = await update(kit, instance.id, body);
        expectRefusal(answer, 400, "resources.update.additional");
      }
      for (const body of [{}, "[]", ""]) {
        const answer = await update(kit, instance.id, body);
        expectRefusal(answer, 400, "resources.update.not-empty");
      }
      const isKept = (await nameOf(kit, instance)) === "Kept";
      expect(isKept, "states.instance.update.refused", "the name has changed");
    },
  ),
  scenario(
    "instance.update.replay",
    "The same key and input answer the original response and apply nothing again",
    ["endpoints.update.replay"],
    async (kit) => {
      const rule = "endpoints.update.replay";
      const instance = await kit.provision({ instance_name: "Zero" });
      const key = kit.key();
      const first = await update(kit, instance.id, { instance_name: "One" }, key);
      expectStatus(first, 200, "endpoints.update");
      await update(kit, instance.id, { instance_name: "Two" });
      const replay = await update(kit, instance.id, { instance_name: "One" }, key);
      expectStatus(replay, 200, rule);
      const { name } = instanceOf(replay);
      expect(name === "One", rule, `the replay answers ${JSON.stringify(name)}, not the original`);
      expect((await nameOf(kit, instance)) === "Two", rule, "the replay was applied again");
    },
  ),
  scenario(
    "instance.update.conflict",
    "The same key with other input is a 409 and changes nothing",
    ["endpoints.update.conflict", "states.instance.update.refused"],
    async (kit) => {
      const instance = await kit.provision();
      const key = kit.key();
      expectStatus(
        await update(kit, instance.id, { instance_name: "A" }, key),
        200,
        "endpoints.update",
      );
      const answer = await update(kit, instance.id, { instance_name: "B" }, key);
      expectRefusal(answer, 409, "endpoints.update.conflict", "idempotency_conflict");
      const isKept = (await nameOf(kit, instance)) === "A";
      expect(isKept, "states.instance.update.refused", "the name has changed");
    },
  ),
  scenario(
    "instance.update.key-scope",
    "The same key at another instance is another key",
    ["endpoints.update.key-scope"],
    async (kit) => {
      const rule = "endpoints.update.key-scope";
      const [one, other] = [await kit.provision(), await kit.provision()];
      const key = kit.key();
      expectStatus(await update(kit, one.id, { instance_name: "One" }, key), 200, rule);
      const answer = await update(kit, other.id, { instance_name: "Other" }, key);
      expectStatus(answer, 200, rule);
      const isOther = instanceOf(answer).id === other.id && (await nameOf(kit, one)) === "One";
      expect(isOther, rule, "the update went to the instance that had used the key");
    },
  ),
  scenario(
    "instance.update.concurrent",
    "Concurrent updates with one key answer alike",
    ["endpoints.update.concurrent"],
    async (kit) => {
      const rule = "endpoints.update.concurrent";
      const instance = await kit.provision();
      const key = kit.key();
      const all = Array.from({ length: CONTENDERS }, () => {
        return update(kit, instance.id, { instance_name: "Together" }, key);
      });
      for (const answer of await Promise.all(all)) {
        expectStatus(answer, 200, rule);
        expect(instanceOf(answer).name === "Together", rule, "the answers differ");
      }
    },
  ),
  scenario(
    "instance.delete",
    "A deletion is a 204 without a body; then the instance is gone and its credential revoked",
    [
      "endpoints.delete",
      "endpoints.read-instance.deleted",
      "endpoints.delete.credentials",
      "authentication.revoked",
    ],
    async (kit) => {
      const instance = await kit.provision();
      const { token } = instance;
      const request = await kit.submit(instance);
      await kit.deleted(instance);
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectRefusal(read, 404, "endpoints.read-instance.deleted");
      const create = { token, key: kit.key(), body: SUBMISSION };
      const refused = [
        await kit.call("createApprovalRequest", create),
        await kit.call("createApprovalRequest", { token, key: request.key, body: request.body }),
        await kit.call("getApprovalRequest", { token, id: request.id }),
        await kit.call("cancelApprovalRequest", { token, id: request.id }),
      ];
      for (const answer of refused) expectRefusal(answer, 401, "endpoints.delete.credentials");
    },
  ),
  scenario(
    "instance.delete.repeat",
    "Deleting it again is a 204",
    ["endpoints.delete.repeat"],
    async (kit) => {
      const instance = await kit.provision();
      await kit.deleted(instance);
      for (let times = 0; times < 2; times++) {
        expectStatus(await kit.deleteInstance(instance.id), 204, "endpoints.delete.repeat");
      }
    },
  ),
  scenario(
    "instance.update.deleted",
    "A deleted instance is not updated, and a replayed update restores nothing",
    ["endpoints.update.unknown", "endpoints.update.replay-deleted"],
    async (kit) => {
      const instance = await kit.provision();
      const key = kit.key();
      expectStatus(
        await update(kit, instance.id, { instance_name: "A" }, key),
        200,
        "endpoints.update",
      );
      await kit.deleted(instance);
      const fresh = await update(kit, instance.id, { instance_name: "B" });
      expectRefusal(fresh, 404, "endpoints.update.unknown");
      const replay = await update(kit, instance.id, { instance_name: "A" }, key);
      expectRefusal(replay, 404, "endpoints.update.replay-deleted");
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectRefusal(read, 404, "endpoints.update.replay-deleted");
    },
  ),
];
