/**
 * The whole story without a person: an agent asks before three tool calls, a reviewer decides
 * two of them from the terminal, nobody answers the third, and the agent learns every outcome by
 * long poll. Uses only what users use: the command and HTTP.
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  ApprovalRequest,
  ErrorResponse,
  ProvisionInstanceResponse,
} from "@countersign/protocol";
import { countersign, startServer } from "./countersign.ts";

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
    agent_reasoning: "The table looks unused.",
  },
  {
    tool: "payments.transfer",
    arguments: { to: "DE89370400440532013000", amount: "250.00", currency: "EUR" },
    timeout: "2s",
  },
] as const;

function say(text = ""): void {
  console.log(text);
}

/** What an adapter does: one exchange with the instance's credential. */
async function exchange<T>(
  url: string,
  path: string,
  token: string,
  submission?: { readonly key: string; readonly body: unknown },
): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(
    url + path,
    submission === undefined
      ? { headers }
      : {
          method: "POST",
          headers: { ...headers, "idempotency-key": submission.key },
          body: JSON.stringify(submission.body),
        },
  );
  const answer = (await response.json()) as T & Partial<ErrorResponse>;
  if (!response.ok) throw new Error(`${path}: ${answer.error?.message}`);
  return answer;
}

/** Polls until the request is terminal, as the contract asks of adapters. */
async function learn(url: string, token: string, id: string): Promise<ApprovalRequest> {
  for (;;) {
    const request = await exchange<ApprovalRequest>(url, `/v1/requests/${id}?wait=25s`, token);
    if (request.status !== "pending") return request;
  }
}

function mayRun({ decision }: ApprovalRequest): boolean {
  if (decision?.status !== "approved" || decision.expires_at === undefined) return false;
  return Date.now() < Date.parse(decision.expires_at);
}

async function tell(data: string, url: string): Promise<void> {
  const [provisioner, reviewer] = await Promise.all([
    countersign(["tokens", "create", "provisioner", "--name", "setup", "--data", data]),
    countersign(["tokens", "create", "reviewer", "--name", "ana", "--data", data]),
  ]);
  const { instance, credential } = await exchange<ProvisionInstanceResponse>(
    url,
    "/v1/instances",
    provisioner,
    { key: "demo", body: {} },
  );
  say(`Provisioned the instance ${instance.name} for the agent.`);
  say();

  const requests: ApprovalRequest[] = [];
  for (const [i, body] of CALLS.entries()) {
    const submission = { key: `call-${i + 1}`, body };
    const request = await exchange<ApprovalRequest>(
      url,
      "/v1/requests",
      credential.token,
      submission,
    );
    requests.push(request);
    say(`The agent asks: ${request.tool} ${JSON.stringify(request.arguments)}`);
  }
  const [merge, erase] = requests;
  const polls = requests.map(({ id }) => learn(url, credential.token, id));
  say();
  say("$ countersign requests list");
  say(await countersign(["requests", "list"], { url, token: reviewer }));

  const decisions = [
    ["requests", "approve", merge?.id ?? "", "--yes", "--valid-for", "2m"],
    ["requests", "deny", erase?.id ?? "", "--note", "Never without WHERE. Archive instead."],
  ];
  for (const command of decisions) {
    say();
    say(`$ countersign ${command.map(quote).join(" ")}`);
    say(await countersign(command, { url, token: reviewer }));
  }
  say();
  say("Nobody answers the third within its two seconds. What the adapter saw:");
  say();
  for (const poll of polls) {
    const request = await poll;
    const { decision } = request;
    const note = decision?.note === undefined ? "" : `  "${decision.note}"`;
    say(`  ${request.tool.padEnd(26)} ${request.status.padEnd(9)}${note}`);
    say(`  ${" ".repeat(26)} ${mayRun(request) ? "the call runs" : "the call does not run"}`);
  }
  const outcomes = (await Promise.all(polls)).map(({ status }) => status).join(" ");
  if (outcomes !== "approved denied expired") throw new Error(`unexpected outcomes: ${outcomes}`);
}

function quote(word: string): string {
  return /^[\w.:/-]+$/.test(word) ? word : `'${word}'`;
}

const data = await mkdtemp(join(tmpdir(), "countersign-demo-"));
const server = await startServer(data);
try {
  say(`Started Countersign on ${server.url} with its data in ${data}.`);
  await tell(data, server.url);
} finally {
  await server.stop();
  rmSync(data, { recursive: true });
}
say();
say("Stopped the server and removed its data.");
