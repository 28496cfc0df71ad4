/**
 * Produces each message that docs/troubleshooting.md quotes, with the real programs and under the
 * condition that the page names. No message needs PostgreSQL or a browser.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import {
  type Agent,
  exchange,
  makeToken,
  newAgent,
  type Answer as ServerAnswer,
  SUBMISSION,
} from "@countersign/testing/agents";
import { Child, fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import {
  BIN,
  countersign,
  ownEnvironment,
  type Server,
  startServer,
} from "@countersign/testing/countersign";
import { findFreePort } from "@countersign/testing/free-port";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");

/** An address without a listener. */
const SILENT = `localhost:${await findFreePort()}`;

const DELIVERY = {
  type: "webhook",
  url: `https://${SILENT}/hook`,
  registration_id: "019cad9c-8813-729c-9c30-e0604515ced9",
  signing_secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
};

const HOOK_INPUT = JSON.stringify({
  session_id: "s",
  cwd: "/srv",
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "make deploy" },
  tool_use_id: "t",
});

type Answer = ServerAnswer<ErrorResponse>;

const file = fileOwner();
/** Where the server of this file was started; it has the default data folder. */
let folder: string;
let server: Server;
let agent: Agent;
let provisioner: string;

before(async () => {
  folder = temporaryFolder(file);
  const args = ["--webhook-allow-cidrs", "127.0.0.0/8"];
  server = await startServer(file, { data: join(folder, "data"), args });
  agent = await newAgent(server);
  provisioner = await makeToken(server.data, { kind: "provisioner" });
});

/** Runs a command in the folder of the server until it fails, with this exit code. */
async function fails(
  t: TestContext,
  args: readonly string[],
  code: number,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const outcome = await countersign(t, args, { cwd: folder, env });
  assert.equal(outcome.code, code, outcome.stderr);
  return outcome.stderr;
}

/** Runs the hook of a coding agent for one call, with a server that does not run. */
function runHook(t: TestContext, name: string): Promise<Outcome> {
  const input = join(folder, "call.json");
  writeFileSync(input, HOOK_INPUT);
  const hook = [process.execPath, BIN, "hook", name];
  const shell = ["/bin/sh", "-c", 'f=$1; shift; exec "$@" < "$f"', "sh", input, ...hook];
  const settings = {
    HOME: folder,
    COUNTERSIGN_URL: `http://${SILENT}`,
    COUNTERSIGN_API_KEY: agent.token,
    COUNTERSIGN_HOOK_WAIT: "1s",
  };
  return new Child(t, shell, { env: { ...ownEnvironment(), ...settings } }).ends();
}

function submit(key: string, fields: object = {}, token = agent.token): Promise<Answer> {
  const body = { ...SUBMISSION, ...fields };
  return exchange("POST", `${server.url}/v1/requests`, token, body, key);
}

function provision(delivery: typeof DELIVERY): Promise<Answer> {
  return exchange("POST", `${server.url}/v1/instances`, provisioner, { delivery }, delivery.url);
}

interface Rejection {
  readonly code: string;
  readonly param?: string;
  readonly answer: () => Promise<Answer>;
}

/** By the heading of the page: the status, then the code or the start of the message. */
const REJECTIONS: Readonly<Record<string, Rejection>> = {
  "401 invalid_credential": {
    code: "invalid_credential",
    answer: () => submit("wrong credential", {}, `${agent.token}x`),
  },
  "403 wrong_credential_kind": {
    code: "wrong_credential_kind",
    answer: () => submit("wrong kind", {}, provisioner),
  },
  "409 idempotency_conflict": {
    code: "idempotency_conflict",
    async answer() {
      await submit("used");
      return submit("used", { arguments: { env: "test" } });
    },
  },
  "400 The body has an unknown field": {
    code: "invalid_request",
    param: "server",
    answer: () => submit("unknown field", { server: "github" }),
  },
  "400 invalid_webhook_url": {
    code: "invalid_webhook_url",
    param: "delivery.url",
    answer: () => provision({ ...DELIVERY, url: "http://receiver.example.com/hook" }),
  },
  "422 webhook_verification_failed": {
    code: "webhook_verification_failed",
    param: "delivery",
    answer: () => provision(DELIVERY),
  },
};

/** The output of a program under the condition of the page, by a part of the quoted message. */
const PRINTED: Readonly<Record<string, (t: TestContext) => Promise<string>>> = {
  "cannot reach": (t) => {
    const env = { COUNTERSIGN_URL: `http://${SILENT}`, COUNTERSIGN_TOKEN: "cs_rev_x" };
    return fails(t, ["requests", "list"], 3, env);
  },
  "another server is running": (t) => fails(t, ["serve", "--port", "0"], 1),
  "is in use": (t) => fails(t, ["serve", "--port", server.port, "--data", "other"], 1),
  "unknown setting": (t) => fails(t, ["serve", "--port", "0"], 2, { COUNTERSIGN_PROT: "1" }),
  "Missing provider URL": (t) => runAgent(t, "new Countersign()"),
  "could not be reached (ECONNREFUSED)": (t) => {
    const options = { url: `http://${SILENT}`, apiKey: "t", logger: false };
    return runAgent(
      t,
      `const approvals = new Countersign(${JSON.stringify(options)});
      const result = await approvals.run({ tool: "deploy", arguments: {} }, () => "it ran");
      if (result.status !== "executed") throw new Error(result.messageForModel);`,
    );
  },
  "Unknown option of new Countersign()": (t) => {
    return runAgent(t, 'new Countersign({ timeOut: "10m" })');
  },
  "No decision was received": async (t) => {
    const agents = ["claude-code", "codex"];
    const [claude, codex] = await Promise.all(agents.map((name) => runHook(t, name)));
    const reason: string = JSON.parse(claude?.stdout ?? "").hookSpecificOutput
      .permissionDecisionReason;
    assert.equal(`${reason}\n`, codex?.stderr);
    return reason;
  },
};

/** @returns the error output of an agent that stops with an exception */
async function runAgent(t: TestContext, code: string): Promise<string> {
  const program = `import { Countersign } from "@countersign/sdk";\n${code}`;
  const command = [process.execPath, "--input-type=module", "--eval", program];
  const { code: exitCode, stderr } = await new Child(t, command, {
    env: ownEnvironment(),
    cwd: ROOT,
  }).ends();
  assert.equal(exitCode, 1, stderr);
  return stderr;
}

/** The sections about a symptom without a message. */
const SYMPTOMS = [
  "The setup link does not work",
  "An approved call does not run",
  "Every call waits for a reviewer",
  "The hook does not start",
  "Nothing arrives in the inbox",
  "No notification arrives",
  "The receiver rejects the signature",
];

interface Section {
  readonly heading: string;
  /** The messages that it quotes: text blocks, and first cells of tables with several words. */
  readonly messages: readonly string[];
}

const SECTIONS: readonly Section[] = PAGE.split(/^### /m)
  .slice(1)
  .map((text) => {
    const quoted = text.matchAll(/^```text\n(.*?)\n```$|^\| `([^`]+ [^`]+)` \|/gms);
    const messages = [...quoted].map(([, block, cell]) => block ?? cell ?? "");
    return { heading: text.split("\n", 1)[0] ?? "", messages };
  });

/** The quoted text with any port instead of 8787. */
function withAnyPort(message: string): RegExp {
  return new RegExp(RegExp.escape(message).replaceAll("8787", "\\d+"));
}

test("every heading with a status in docs/troubleshooting.md names an error of this file", () => {
  const headings = SECTIONS.map(({ heading }) => heading).filter((each) => /^\d{3} /.test(each));
  assert.deepEqual(headings.sort(), Object.keys(REJECTIONS).sort());
});

test("every section of docs/troubleshooting.md quotes a message or describes a symptom", () => {
  const silent = SECTIONS.filter(({ messages }) => messages.length === 0);
  assert.deepEqual(silent.map(({ heading }) => heading).sort(), [...SYMPTOMS].sort());
});

for (const { heading, messages } of SECTIONS) {
  const rejection = REJECTIONS[heading];
  if (rejection === undefined) continue;
  test(`docs/troubleshooting.md: the server sends the error "${heading}" as quoted`, async () => {
    const { status, json, text } = await rejection.answer();
    const [, number, title = ""] = /^(\d{3}) (.+)$/.exec(heading) ?? [];
    assert.equal(status, Number(number), text);
    const { code, message, param } = json.error;
    assert.deepEqual([code, param], [rejection.code, rejection.param]);
    assert.ok(title === code || message.startsWith(title), message);
    for (const quoted of messages) assert.equal(quoted, message);
  });
}

const OTHER_MESSAGES = SECTIONS.filter(({ heading }) => !(heading in REJECTIONS)).flatMap(
  ({ messages }) => messages,
);

test("every other message in docs/troubleshooting.md is one that this file produces", () => {
  const parts = Object.keys(PRINTED);
  assert.deepEqual(
    OTHER_MESSAGES.map((message) => parts.filter((part) => message.includes(part))).sort(),
    parts.map((part) => [part]).sort(),
  );
});

for (const message of OTHER_MESSAGES) {
  const [, print] = Object.entries(PRINTED).find(([part]) => message.includes(part)) ?? [];
  if (print === undefined) continue;
  test(`docs/troubleshooting.md: a program prints "${message}"`, async (t) => {
    assert.match(await print(t), withAnyPort(message));
  });
}
