/**
 * An agent of a user, in a project that has installed the SDK: two calls that must
 * be decided, the first of them proposed again.
 *
 * Prints one line for each outcome.
 */

import { Countersign, JsonNumber, Provisioner, Receiver } from "@countersign/sdk";
import { FileReceiverStore, FileStore } from "@countersign/sdk/file-store";
import { nodeHandler } from "@countersign/sdk/node";

const { PROVIDER_URL = "", PROVISIONER_TOKEN = "", FOLDER = "" } = process.env;

const provisioner = new Provisioner({ url: PROVIDER_URL, token: PROVISIONER_TOKEN });
const { credential } = await provisioner.create();
const approvals = new Countersign({
  url: PROVIDER_URL,
  apiKey: credential.take(),
  store: new FileStore(`${FOLDER}/approvals`),
  logger: false,
});

interface Refund {
  readonly order: string;
  readonly cents: JsonNumber;
}

const createRefund = approvals.tool("refunds.create", ({ order, cents }: Refund) => {
  return `${cents.source} back for ${order}`;
});

async function refund(idempotencyKey: string, order: string): Promise<void> {
  // More than a double can hold: what is approved must be these digits.
  const args = { order, cents: new JsonNumber("9007199254740993") };
  const result = await createRefund(args, { idempotencyKey });
  const isExecuted = result.status === "executed";
  console.log(isExecuted ? result.value : `${result.reason}: ${result.messageForModel}`);
}

await refund("first", "A-1");
await refund("second", "A-2");
await refund("first", "A-1");

const store = new FileReceiverStore(`${FOLDER}/events`);
const receiver = new Receiver({ registrations: () => undefined, store, onResolved: () => {} });
console.log(`${typeof nodeHandler(receiver)} ${(await receiver.fetch(unsigned())).status}`);

function unsigned(): Request {
  return new Request("https://agent.example/", { method: "POST", body: "{}" });
}
