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
  expectStatus(answer, 200, "instance.read");
  return instanceOf(answer).name;
}

export const INSTANCES: readonly Scenario[] = [
  scenario(
    "instance.read",
    "Reading an instance answers it, without a delivery when there is no receiver",
    ["instance.read", "instance.shape"],
    async (kit) => {
      const { id, name } = await kit.provision({ instance_name: "Read me" });
      const answer = await kit.call("getInstance", { token: kit.provisioner, id });
      expectStatus(answer, 200, "instance.read");
      const instance = instanceOf(answer);
      const isSame = instance.id === id && instance.name === name;
      expect(isSame, "instance.read", "it is not what was provisioned");
      const rule = "instance.shape";
      expect(instance.delivery === undefined, rule, "there is a delivery without a receiver");
    },
  ),
  scenario(
    "instance.unknown",
    "An instance that never was cannot be read, updated or deleted",
    ["instance.read.unknown", "instance.update.unknown", "instance.delete.unknown"],
    async (kit) => {
      const id = randomUUID();
      const read = await kit.call("getInstance", { token: kit.provisioner, id });
      expectRefusal(read, 404, "instance.read.unknown");
      const renamed = await update(kit, id, { instance_name: "x" });
      expectRefusal(renamed, 404, "instance.update.unknown");
      expectRefusal(await kit.deleteInstance(id), 404, "instance.delete.unknown");
      // Asking for what is not there does not make it.
      const again = await kit.call("getInstance", { token: kit.provisioner, id });
      expectRefusal(again, 404, "instance.read.unknown");
    },
  ),
  scenario(
    "instance.update",
    "An update answers the instance as it is now, and reads show it",
    ["instance.update.renames"],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Before" });
      const answer = await update(kit, instance.id, { instance_name: "After" });
      expectStatus(answer, 200, "instance.update.renames");
      const { id, name } = instanceOf(answer);
      const isNow = id === instance.id && name === "After";
      expect(
        isNow,
        "instance.update.renames",
        `${answer.what}: the name is ${JSON.stringify(name)}`,
      );
      expect(
        (await nameOf(kit, instance)) === "After",
        "instance.update.renames",
        "a read shows it not",
      );
    },
  ),
  scenario(
    "instance.update.key-required",
    "An update without a key, or with an empty one, is refused and changes nothing",
    ["instance.update.key-required", "instance.update.refused-changes-nothing"],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Kept" });
      const body = { instance_name: "Changed" };
      const call = { token: kit.provisioner, id: instance.id, body };
      const rule = "instance.update.key-required";
      expectRefusal(await kit.call("updateInstance", call), 400, rule);
      expectRefusal(await kit.call("updateInstance", { ...call, key: "" }), 400, rule);
      const isKept = (await nameOf(kit, instance)) === "Kept";
      expect(isKept, "instance.update.refused-changes-nothing", "the name has changed");
    },
  ),
  scenario(
    "instance.update.fields",
    "An update with a wrong field, an unknown one or none is refused and changes nothing",
    [
      "instance.update.name",
      "instance.update.additional-properties",
      "instance.update.not-empty",
      "instance.update.refused-changes-nothing",
    ],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Kept" });
      for (const name of ["", null, 7, []]) {
        const answer = await update(kit, instance.id, { instance_name: name });
        expectRefusal(answer, 400, "instance.update.name");
      }
      for (const body of [{ instance_name: "x", more: 1 }, { name: "x" }]) {
        const answer = await update(kit, instance.id, body);
        expectRefusal(answer, 400, "instance.update.additional-properties");
      }
      for (const body of [{}, "[]", ""]) {
        const answer = await update(kit, instance.id, body);
        expectRefusal(answer, 400, "instance.update.not-empty");
      }
      const isKept = (await nameOf(kit, instance)) === "Kept";
      expect(isKept, "instance.update.refused-changes-nothing", "the name has changed");
    },
  ),
  scenario(
    "instance.update.replay",
    "The same key and input answer the original response and apply nothing again",
    ["instance.update.replay"],
    async (kit) => {
      const rule = "instance.update.replay";
      const instance = await kit.provision({ instance_name: "Zero" });
      const key = kit.key();
      const first = await update(kit, instance.id, { instance_name: "One" }, key);
      expectStatus(first, 200, "instance.update.renames");
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
    ["instance.update.conflict", "instance.update.refused-changes-nothing"],
    async (kit) => {
      const instance = await kit.provision();
      const key = kit.key();
      expectStatus(
        await update(kit, instance.id, { instance_name: "A" }, key),
        200,
        "instance.update.renames",
      );
      const answer = await update(kit, instance.id, { instance_name: "B" }, key);
      expectRefusal(answer, 409, "instance.update.conflict", "idempotency_conflict");
      const isKept = (await nameOf(kit, instance)) === "A";
      expect(isKept, "instance.update.refused-changes-nothing", "the name has changed");
    },
  ),
  scenario(
    "instance.update.key-scope",
    "The same key at another instance is another key",
    ["instance.update.key-scope"],
    async (kit) => {
      const rule = "instance.update.key-scope";
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
    ["instance.update.concurrent"],
    async (kit) => {
      const rule = "instance.update.concurrent";
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
      "instance.delete",
      "instance.read.deleted",
      "instance.delete.credentials-revoked",
      "request.retention.no-access",
      "auth.revoked",
    ],
    async (kit) => {
      const instance = await kit.provision();
      const { token } = instance;
      const request = await kit.submit(instance);
      await kit.deleted(instance);
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectRefusal(read, 404, "instance.read.deleted");
      const create = { token, key: kit.key(), body: SUBMISSION };
      const refused = [
        await kit.call("createApprovalRequest", create),
        await kit.call("createApprovalRequest", { token, key: request.key, body: request.body }),
        await kit.call("getApprovalRequest", { token, id: request.id }),
        await kit.call("cancelApprovalRequest", { token, id: request.id }),
      ];
      for (const answer of refused)
        expectRefusal(answer, 401, "instance.delete.credentials-revoked");
    },
  ),
  scenario(
    "instance.delete.repeat",
    "Deleting it again is a 204",
    ["instance.delete.repeat"],
    async (kit) => {
      const instance = await kit.provision();
      await kit.deleted(instance);
      for (let times = 0; times < 2; times++) {
        expectStatus(await kit.deleteInstance(instance.id), 204, "instance.delete.repeat");
      }
    },
  ),
  scenario(
    "instance.update.deleted",
    "A deleted instance is not updated, and a replayed update restores nothing",
    ["instance.update.unknown", "instance.update.replay.deleted"],
    async (kit) => {
      const instance = await kit.provision();
      const key = kit.key();
      expectStatus(
        await update(kit, instance.id, { instance_name: "A" }, key),
        200,
        "instance.update.renames",
      );
      await kit.deleted(instance);
      const fresh = await update(kit, instance.id, { instance_name: "B" });
      expectRefusal(fresh, 404, "instance.update.unknown");
      const replay = await update(kit, instance.id, { instance_name: "A" }, key);
      expectRefusal(replay, 404, "instance.update.replay.deleted");
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectRefusal(read, 404, "instance.update.replay.deleted");
    },
  ),
];
