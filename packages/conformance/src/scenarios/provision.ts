/** POST /v1/instances without a receiver. */

import { answeredInTime, expectRefusal, expectStatus, provisionedBy } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** How many are sent at the same time, where one may win. */
const CONTENDERS = 8;

/** Time for a call to arrive before its sender hangs up. */
const LINGER_MS = 20;

export const PROVISION: readonly Scenario[] = [
  scenario(
    "provision.created",
    "A new instance is a 201, and its credential works",
    [
      "instance.provision.created",
      "instance.provision.shape",
      "credential.shape",
      "instance.provision.name",
    ],
    async (kit) => {
      const name = `Conformance ${kit.key()} äöü ✓`;
      const instance = await kit.provision({ instance_name: name });
      expect(instance.name === name, "instance.provision.name", "the name is not the one given");
      const request = await kit.submit(instance);
      await kit.read(instance, request.id);
    },
  ),
  scenario(
    "provision.empty-object",
    "An empty object provisions an instance, which gets a name",
    ["instance.provision.empty-object", "instance.name.assigned"],
    async (kit) => {
      const call = { token: kit.provisioner, key: kit.key(), body: {} };
      const answer = await kit.tryProvision(call);
      expectStatus(answer, 201, "instance.provision.empty-object");
      const { instance } = provisionedBy(answer);
      const rule = "instance.name.assigned";
      expect(instance.name.length > 0, rule, "the name is empty");
    },
  ),
  scenario(
    "provision.key-required",
    "A provisioning without a key, or with an empty one, is refused",
    ["instance.provision.key-required"],
    async (kit) => {
      const rule = "instance.provision.key-required";
      const call = { token: kit.provisioner, body: {} };
      expectRefusal(await kit.tryProvision(call), 400, rule);
      expectRefusal(await kit.tryProvision({ ...call, key: "" }), 400, rule);
    },
  ),
  scenario(
    "provision.name",
    "A name is a string of at least one character",
    ["instance.provision.name"],
    async (kit) => {
      for (const name of ["", null, 7, true, [], {}]) {
        const body = { instance_name: name };
        const answer = await kit.tryProvision({ token: kit.provisioner, key: kit.key(), body });
        expectRefusal(answer, 400, "instance.provision.name");
      }
    },
  ),
  scenario(
    "provision.delivery-null",
    "A provisioning with a null delivery is refused",
    ["instance.provision.delivery-null"],
    async (kit) => {
      const call = { token: kit.provisioner, key: kit.key(), body: { delivery: null } };
      expectRefusal(await kit.tryProvision(call), 400, "instance.provision.delivery-null");
    },
  ),
  scenario(
    "provision.unknown-property",
    "A provisioning with an unknown property is refused",
    ["instance.provision.additional-properties"],
    async (kit) => {
      for (const body of [{ name: "x" }, { instance_name: "x", id: "y" }, { credential: {} }]) {
        const answer = await kit.tryProvision({ token: kit.provisioner, key: kit.key(), body });
        expectRefusal(answer, 400, "instance.provision.additional-properties");
      }
    },
  ),
  scenario(
    "provision.body",
    "A provisioning without a body, or with a body that is not a JSON object, is rejected",
    ["instance.provision.body-object", "error.malformed"],
    async (kit) => {
      for (const body of [undefined, "", "[]", "null", '"x"', "7", "{", '{"instance_name":"x"}}']) {
        const input = body === undefined ? {} : { body };
        const answer = await kit.tryProvision({ token: kit.provisioner, key: kit.key(), ...input });
        const rule = body?.startsWith("{") ? "error.malformed" : "instance.provision.body-object";
        expectRefusal(answer, 400, rule);
      }
    },
  ),
  scenario(
    "provision.replay",
    "The same key and input answer the original instance and credential with 200",
    ["instance.provision.replay", "instance.provision.replay.not-renewed"],
    async (kit) => {
      const body = { instance_name: "Replayed" };
      const call = { token: kit.provisioner, key: kit.key(), body };
      const first = provisionedBy(await kit.tryProvision(call));
      for (let replay = 0; replay < 2; replay++) {
        const answer = await kit.tryProvision(call);
        const rule = "instance.provision.replay";
        expectStatus(answer, 200, rule);
        const { provisioned } = answer;
        expect(provisioned?.instance.id === first.instance.id, rule, "it is another instance");
        const isSame =
          provisioned?.token === first.token && provisioned.expiresAt === first.expiresAt;
        expect(isSame, "instance.provision.replay.not-renewed", "it is another credential");
      }
    },
  ),
  scenario(
    "provision.replay-after-update",
    "A replay answers the original response, also when the name has changed since",
    ["instance.provision.replay", "instance.provision.replay.not-renewed"],
    async (kit) => {
      const instance = await kit.provision({ instance_name: "Before" });
      const update = { token: kit.provisioner, id: instance.id, body: { instance_name: "After" } };
      expectStatus(
        await kit.call("updateInstance", { ...update, key: kit.key() }),
        200,
        "instance.update.renames",
      );
      const { key, body } = instance;
      const answer = await kit.tryProvision({ token: kit.provisioner, key, body });
      expectStatus(answer, 200, "instance.provision.replay");
      const isSame = answer.provisioned?.token === instance.token;
      expect(isSame, "instance.provision.replay.not-renewed", "it is another credential");
    },
  ),
  scenario(
    "provision.conflict",
    "The same key with other input is a 409",
    ["instance.provision.conflict"],
    async (kit) => {
      const { key } = await kit.provision({ instance_name: "One" });
      for (const body of [{ instance_name: "Two" }, {}]) {
        const answer = await kit.tryProvision({ token: kit.provisioner, key, body });
        expectRefusal(answer, 409, "instance.provision.conflict", "idempotency_conflict");
      }
    },
  ),
  scenario(
    "provision.replay-deleted",
    "A replay after the deletion is a 409 and creates nothing",
    ["instance.provision.replay.deleted"],
    async (kit) => {
      const instance = await kit.provision();
      await kit.deleted(instance);
      const { key, body } = instance;
      const answer = await kit.tryProvision({ token: kit.provisioner, key, body });
      expectRefusal(answer, 409, "instance.provision.replay.deleted", "instance_deleted");
    },
  ),
  scenario(
    "provision.concurrent",
    "Concurrent provisionings with one key make one instance",
    ["instance.provision.concurrent"],
    async (kit) => {
      const rule = "instance.provision.concurrent";
      const call = { token: kit.provisioner, key: kit.key(), body: { instance_name: "One" } };
      const answers = await Promise.all(
        Array.from({ length: CONTENDERS }, () => kit.tryProvision(call)),
      );
      const made = answers.filter(({ status }) => status === 201).length;
      expect(made === 1, rule, `${made} of ${CONTENDERS} answers are 201`);
      for (const answer of answers) if (answer.status !== 201) expectStatus(answer, 200, rule);
      const tokens = new Set(answers.map(({ provisioned }) => provisioned?.token));
      const ids = new Set(answers.map(({ provisioned }) => provisioned?.instance.id));
      expect(ids.size === 1 && tokens.size === 1, rule, `${ids.size} instances were made`);
    },
  ),
  scenario(
    "provision.lost-response",
    "After a lost answer, a retry of the provisioning returns its instance and credential",
    ["instance.provision.replay"],
    async (kit) => {
      const rule = "instance.provision.replay";
      const call = { token: kit.provisioner, key: kit.key(), body: { instance_name: "Lost" } };
      kit.ownUnknown(call);
      for (const lingerMs of [0, LINGER_MS]) {
        await kit.client.sendAndHangUp("provisionInstance", call, lingerMs);
      }
      const first = await answeredInTime(kit.tryProvision(call), rule, "sent again");
      const isAnswer = first.status === 201 || first.status === 200;
      expect(isAnswer, rule, `${first.what} after a lost answer`);
      const second = await kit.tryProvision(call);
      expectStatus(second, 200, rule);
      const isSame = first.provisioned?.token === second.provisioned?.token;
      expect(isSame, rule, "sending it again made another instance");
    },
  ),
  scenario(
    "provision.key-of-another-operation",
    "The key of a provisioning is another key in an update and a submission",
    ["instance.provision.key-scope"],
    async (kit) => {
      const rule = "instance.provision.key-scope";
      const instance = await kit.provision();
      const { id, key, token } = instance;
      const body = { instance_name: "Renamed" };
      const update = await kit.call("updateInstance", { token: kit.provisioner, id, key, body });
      expectStatus(update, 200, rule);
      const submission = { tool: "t", arguments: {}, timeout: "10m" };
      const created = await kit.call("createApprovalRequest", { token, key, body: submission });
      expectStatus(created, 201, rule);
    },
  ),
  scenario(
    "provision.key-of-another-provisioner",
    "The same key of another provisioner makes another instance",
    ["instance.provision.key-scope"],
    async (kit) => {
      const rule = "instance.provision.key-scope";
      const call = { key: kit.key(), body: { instance_name: "Twin" } };
      const one = provisionedBy(await kit.tryProvision({ ...call, token: kit.provisioner }));
      const answer = await kit.tryProvision({ ...call, token: kit.otherProvisioner });
      expectStatus(answer, 201, rule);
      const { instance, token } = provisionedBy(answer);
      expect(instance.id !== one.instance.id, rule, "both got the same instance");
      expect(token !== one.token, rule, "both got the same credential");
    },
    { needs: ["other-provisioner"] },
  ),
];
