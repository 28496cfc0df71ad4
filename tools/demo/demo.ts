/**
 * The whole story without a person. One agent polls: it asks before three tool calls, a reviewer
 * decides two of them from the terminal, the third gets no decision. Another one is notified: its
 * receiver is notified over TLS of the decision, and the adapter reads it. The calls of a
 * third one meet a policy, which asks two people about money. At the end the log of all that is
 * verified. Uses only what users use: the command, HTTP and the receiver in examples/.
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApprovalRequest, ProvisionInstanceResponse } from "@countersign/protocol";
import { exchange, learn, mayRun } from "./adapter.ts";
import { type Recorded, showLog, showTampering } from "./audit.ts";
import { countersign, startServer } from "./countersign.ts";
import { FINANCE, showPeople } from "./people.ts";
import { showPolicy } from "./policy.ts";
import { type Prepared, prepareReceiver, startReceiver } from "./receiver.ts";

const CALLS = [
  {
    tool: "github.merge_pull_request",
    arguments: { repository: "acme/shop", number: 1234 },
    timeout: "10m",
    agent_reasoning: "All checks are green.",
  },
  {
    tool: "db.execute",
    arguments: { database: "production", sql: "DELETE FROM orders" },
    timeout: "10m",
    agent_reasoning: "The table seems unused.",
  },
  {
    tool: "payments.transfer",
    arguments: { to: "DE89370400440532013000", amount: "250.00", currency: "EUR" },
    timeout: "2s",
  },
] as const;

const LONG_CALL = {
  tool: "warehouse.reindex",
  arguments: { index: "products", shards: 12 },
  timeout: "24h",
};

/** The server, and the tokens of the participants. */
interface Stage {
  readonly url: string;
  readonly provisioner: string;
  readonly reviewer: string;
  /** Tokens of the finance reviewers, by name. */
  readonly finance: Readonly<Record<(typeof FINANCE)[number], string>>;
}

function say(text = ""): void {
  console.log(text);
}

async function setStage(data: string, url: string): Promise<Stage> {
  const [provisioner, reviewer] = await Promise.all([
    countersign(["tokens", "create", "provisioner", "--name", "setup", "--data", data]),
    countersign([
      "tokens",
      "create",
      "reviewer",
      "--name",
      "ana",
      "--role",
      "admin",
      "--data",
      data,
    ]),
  ]);
  const ofFinance = (name: string) =>
    countersign([
      "tokens",
      "create",
      "reviewer",
      "--name",
      name,
      "--groups",
      "finance",
      "--data",
      data,
    ]);
  const [li, mo] = await Promise.all(FINANCE.map(ofFinance));
  return { url, provisioner, reviewer, finance: { li: li ?? "", mo: mo ?? "" } };
}

/** @returns the credential of the new instance */
async function provision({ url, provisioner }: Stage, key: string, body: object): Promise<string> {
  const { instance, credential } = await exchange<ProvisionInstanceResponse>(
    url,
    "/v1/instances",
    provisioner,
    { key, body },
  );
  const { name, delivery } = instance;
  const receiver = delivery === undefined ? "" : `, notified at ${delivery.url}`;
  say(`Provisioned the instance ${name}${receiver}.`);
  say();
  return credential.token;
}

async function ask(
  stage: Stage,
  token: string,
  key: string,
  body: object,
): Promise<ApprovalRequest> {
  const submission = { key, body };
  const request = await exchange<ApprovalRequest>(stage.url, "/v1/requests", token, submission);
  say(`The agent asks: ${request.tool} ${JSON.stringify(request.arguments)}`);
  return request;
}

async function review({ url, reviewer }: Stage, ...command: readonly string[]): Promise<void> {
  say();
  say(`$ countersign ${command.map(quote).join(" ")}`);
  say(await countersign(command, { url, token: reviewer }));
}

async function reviewAs(
  { url, finance }: Stage,
  name: (typeof FINANCE)[number],
  ...command: readonly string[]
): Promise<void> {
  say();
  say(`${name} $ countersign ${command.map(quote).join(" ")}`);
  say(await countersign(command, { url, token: finance[name] }));
}

function showOutcome(request: ApprovalRequest): void {
  const { tool, status, decision } = request;
  const note = decision?.note === undefined ? "" : `  "${decision.note}"`;
  say(`  ${tool.padEnd(26)} ${status.padEnd(9)}${note}`);
  say(`  ${" ".repeat(26)} ${mayRun(request) ? "the call runs" : "the call does not run"}`);
}

async function showPolling(stage: Stage): Promise<void> {
  const token = await provision(stage, "polls", {});
  const requests: ApprovalRequest[] = [];
  for (const [i, body] of CALLS.entries()) {
    requests.push(await ask(stage, token, `call-${i + 1}`, body));
  }
  const [merge, erase] = requests;
  const polls = requests.map(({ id }) => learn(stage.url, token, id));
  await review(stage, "requests", "list");
  await review(stage, "requests", "approve", merge?.id ?? "", "--yes", "--valid-for", "2m");
  const note = "Never without WHERE. Archive instead.";
  await review(stage, "requests", "deny", erase?.id ?? "", "--note", note);
  say();
  say("The third gets no decision within its two seconds. The adapter received:");
  say();
  for (const poll of polls) showOutcome(await poll);
  const outcomes = (await Promise.all(polls)).map(({ status }) => status).join(" ");
  if (outcomes !== "approved denied expired") throw new Error(`unexpected outcomes: ${outcomes}`);
}

async function showNotifying(stage: Stage, prepared: Prepared): Promise<void> {
  const { id: registration_id, secret: signing_secret } = prepared.registration;
  const receiver = await startReceiver(prepared);
  try {
    const { url } = receiver;
    const delivery = { type: "webhook", url, registration_id, signing_secret };
    const token = await provision(stage, "is notified", { delivery });
    const { id } = await ask(stage, token, "call-1", LONG_CALL);
    const notified = receiver.next();
    await review(stage, "requests", "approve", id, "--yes");
    const event = await notified;
    say();
    say(`The receiver got, verified and kept ${JSON.stringify(event)}`);
    say("It says nothing about the decision; the adapter reads the request:");
    say();
    const path = `/v1/requests/${event.request_id}`;
    const request = await exchange<ApprovalRequest>(stage.url, path, token);
    showOutcome(request);
    if (request.id !== id || !mayRun(request)) throw new Error("unexpected outcome");
  } finally {
    await receiver.stop();
  }
}

/** @returns the id of a request that was denied */
async function showRules(stage: Stage): Promise<string> {
  const token = await provision(stage, "meets a policy", {});
  await showPolicy({
    say,
    ask: (key, body) => ask(stage, token, key, body),
    review: (...command) => review(stage, ...command),
  });
  say();
  say("Some calls take more than one person.");
  say();
  return showPeople({
    say,
    ask: (key, body) => ask(stage, token, key, body),
    reviewAs: (name, ...command) => reviewAs(stage, name, ...command),
    read: (id) => exchange<ApprovalRequest>(stage.url, `/v1/requests/${id}`, token),
  });
}

function quote(word: string): string {
  return /^[\w.:/-]+$/.test(word) ? word : `'${word}'`;
}

const folder = await mkdtemp(join(tmpdir(), "countersign-demo-"));
try {
  const prepared = prepareReceiver(join(folder, "receiver"));
  const data = join(folder, "data");
  const server = await startServer(data, prepared.certificate);
  let record: Recorded;
  try {
    say(`Started Countersign on ${server.url} with its data in ${data}.`);
    const stage = await setStage(data, server.url);
    await showPolling(stage);
    say();
    say("A call that may wait for hours, without a poll: the second agent has a receiver.");
    await showNotifying(stage, prepared);
    say();
    say("Most calls are harmless, and some are never wanted: a policy answers those at once.");
    const requestId = await showRules(stage);
    record = { say, data, requestId };
    say();
    say("All of it is in a sealed log, which anyone can verify.");
    await showLog(record);
  } finally {
    await server.stop();
  }
  await showTampering(record);
} finally {
  rmSync(folder, { recursive: true });
}
say();
say("Stopped the server and removed its data.");
