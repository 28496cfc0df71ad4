import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { proposeDelivery } from "@countersign/sdk";
import { exchange, makeToken } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, startServer } from "@countersign/testing/countersign";
import { prepareReceiver, startReceiver } from "../../../tools/demo/receiver.ts";

interface Shown {
  readonly delivery?: { readonly url: string; readonly registration_id: string };
}

/** A server that accepts a receiver on this machine, and that receiver. */
async function startScene(t: TestContext) {
  const folder = temporaryFolder(t);
  const prepared = prepareReceiver(join(folder, "receiver"));
  const receiver = await startReceiver(prepared);
  t.after(() => receiver.stop());
  const server = await startServer(t, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8"],
    env: { NODE_EXTRA_CA_CERTS: prepared.certificate },
  });
  const token = await makeToken(server.data, { kind: "provisioner", name: "setup" });
  const file = join(folder, "delivery.json");
  const { id, secret } = prepared.registration;
  const delivery = { url: receiver.url, registration_id: id, signing_secret: secret };
  writeFileSync(file, JSON.stringify(delivery));
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  const run = (...args: readonly string[]) => countersign(t, args, { env, cwd: folder });
  const show = async (agent: string) => {
    return (await exchange<Shown>("GET", `${server.url}/v1/instances/${agent}`, token)).json;
  };
  return { folder, file, delivery, server, run, show };
}

test("[ours.cli.instances] agents create and agents set configure the receiver of a file", async (t) => {
  const { file, delivery, run, show } = await startScene(t);
  const created = await run("agents", "create", "bot", "--delivery", file, "--json");
  assert.equal(created.code, 0, created.stderr);
  const { id } = JSON.parse(created.stdout) as { readonly id: string };
  const { url, registration_id } = (await show(id)).delivery ?? {};
  assert.deepEqual([url, registration_id], [delivery.url, delivery.registration_id]);

  const removed = await run("agents", "set", id, "--delivery", "none");
  assert.deepEqual([removed.code, removed.stdout], [0, `${id} has no receiver.\n`]);
  assert.equal((await show(id)).delivery ?? undefined, undefined);

  writeFileSync(file, JSON.stringify({ type: "webhook", ...delivery }));
  const again = await run("agents", "set", id, "--delivery", file);
  assert.deepEqual([again.code, again.stdout], [0, `${id} has the receiver ${delivery.url}.\n`]);
  assert.equal((await show(id)).delivery?.url, delivery.url);
  for (const { stdout, stderr } of [created, removed, again]) {
    assert.ok(!`${stdout}${stderr}`.includes(delivery.signing_secret));
  }
});

test("[ours.cli.instances] a receiver that does not confirm, and a wrong file, create no agent", async (t) => {
  const { folder, file, delivery, server, run } = await startScene(t);
  const { registrationId, signingSecret } = proposeDelivery(delivery.url);
  const unknown = { ...delivery, registration_id: registrationId, signing_secret: signingSecret };
  writeFileSync(join(folder, "unknown.json"), JSON.stringify(unknown));
  const refused = await run("agents", "create", "bot", "--delivery", "unknown.json");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /webhook_verification_failed|verif/);

  writeFileSync(join(folder, "part.json"), JSON.stringify({ url: delivery.url }));
  const part = await run("agents", "create", "bot", "--delivery", "part.json");
  assert.equal(part.code, 2);
  assert.match(part.stderr, /must be a JSON object with exactly the texts url, registration_id, /);
  writeFileSync(join(folder, "email.json"), JSON.stringify({ ...delivery, type: "email" }));
  const email = await run("agents", "create", "bot", "--delivery", "email.json");
  assert.equal(email.code, 2);
  assert.match(email.stderr, /the type in --delivery email\.json must be "webhook"/);
  const absent = await run("agents", "create", "bot", "--delivery", "absent.json");
  assert.match(absent.stderr, /cannot read --delivery absent\.json: ENOENT: no such file/);

  const local = ["agents", "create", "bot", "--delivery", file, "--data", server.data];
  const noToken = await countersign(t, local);
  assert.equal(noToken.code, 2);
  assert.match(noToken.stderr, /--delivery needs a provisioner token in COUNTERSIGN_TOKEN/);
  const { stdout } = await countersign(t, ["agents", "list", "--data", server.data]);
  assert.match(stdout, /There are no agents/);
});
