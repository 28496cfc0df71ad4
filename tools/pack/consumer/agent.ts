/**
 * An agent of a user, in a project that has installed the SDK: two calls that must
 * be decided, the first of them proposed again.
 *
 * Prints one line for each outcome.
 */

import { Client, Gate, JsonNumber, Provisioner, Receiver } from "@countersign/sdk";
import { FileReceiverStore, FileStore } from "@countersign/sdk/file-store";
import { nodeHandler } from "@countersign/sdk/node";

const { PROVIDER_URL = "", PROVISIONER_TOKEN = "", FOLDER = "" } = process.env;

const { credential } = await new Provisioner(PROVIDER_URL, PROVISIONER_TOKEN).create();
const client = new Client(PROVIDER_URL, credential.take());
const gate = new Gate(client, { store: new FileStore(`${FOLDER}/approvals`) });

async function refund(key: string, order: string): Promise<void> {
  // More than a double can hold: what is approved must be these digits.
  const args = { order, cents: new JsonNumber("9007199254740993") };
  const call = { key, tool: "refunds.create", arguments: args };
  const outcome = await gate.guard(call, (args) => `${args.cents.source} back for ${args.order}`);
  console.log(outcome.ran ? outcome.value : `${outcome.verdict.kind}: ${outcome.reason}`);
}

await refund("first", "A-1");
await refund("second", "A-2");
await refund("first", "A-1");

const store = new FileReceiverStore(`${FOLDER}/events`);
const receiver = new Receiver({ registrations: () => undefined, store, resumers: {} });
console.log(`${typeof nodeHandler(receiver)} ${(await receiver.fetch(unsigned())).status}`);

function unsigned(): Request {
  return new Request("https://agent.example/", { method: "POST", body: "{}" });
}
