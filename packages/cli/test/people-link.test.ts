import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { makeToken } from "@countersign/testing/agents";
import { fileOwner, type Outcome } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;

before(async () => {
  server = await startServer(file);
  const admin = await makeToken(server.data, { kind: "reviewer", name: "root", role: "admin" });
  const invited = await post("/review/v1/invitations", { name: "ana" }, `Bearer ${admin}`);
  const { url } = (await invited.json()) as { url: string };
  const token = new URL(url).hash.slice(1);
  const use = { token, login: "Ana", password: "correct horse battery staple" };
  assert.equal((await post("/review/v1/invitation/use", use)).status, 201);
});

function post(path: string, body: object, authorization?: string): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "sec-fetch-site": "same-origin",
    ...(authorization === undefined ? {} : { authorization }),
  };
  return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

const PROVIDER = {
  COUNTERSIGN_OIDC_ISSUER: "https://login.example.com",
  COUNTERSIGN_OIDC_CLIENT_ID: "countersign",
  COUNTERSIGN_OIDC_ROLE_DEFAULT: "viewer",
};

function link(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = PROVIDER,
): Promise<Outcome> {
  return countersign(t, ["people", "link", ...args, "--data", server.data], { env });
}

test("[ours.oidc.link] an operator links a person, in either case of the login, and removes the link", async (t) => {
  const linked = await link(t, ["ANA", "--subject", "248289761001"]);
  assert.deepEqual([linked.code, linked.stderr], [0, ""]);
  assert.match(linked.stdout, /^ANA signs in at the identity provider as 248289761001\.$/m);
  const ended = await link(t, ["ana", "--remove", "--json"]);
  assert.deepEqual(JSON.parse(ended.stdout), { login: "ana", subject: null });
});

test("[ours.oidc.link] a wrong command is reported and changes nothing", async (t) => {
  const faults: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["ana"], 2, /either --subject SUB or --remove/],
    [["ana", "--subject", "a", "--remove"], 2, /either --subject SUB or --remove/],
    [["--remove"], 2, /the login of the person is missing/],
    [["nobody", "--subject", "a"], 1, /No account has the login "nobody"/],
    [["ana", "--subject", ""], 1, /sent no valid subject/],
  ];
  for (const [args, code, message] of faults) {
    const outcome = await link(t, args);
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stderr, message);
  }
  const without = await link(t, ["ana", "--subject", "a"], {});
  assert.equal(without.code, 1);
  assert.match(without.stderr, /No identity provider is configured\. Set oidc_issuer/);
});
