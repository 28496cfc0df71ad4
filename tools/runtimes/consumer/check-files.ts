/**
 * Checks the file stores on a runtime with Node's modules, in the folder that the variable FOLDER
 * names. Prints the number of passed checks.
 */

import { FileReceiverStore, FileStore } from "@countersign/sdk/file-store";
import { storeChecks } from "@countersign/sdk/store-conformance";

const { FOLDER = "" } = process.env;

let passed = 0;
for (const { name, run } of storeChecks({ open: () => new FileStore(`${FOLDER}/approvals`) })) {
  await run().catch((error: unknown) => {
    throw new Error(name, { cause: error });
  });
  passed++;
}

const id = crypto.randomUUID();
const event = { id, instanceId: id, requestId: id, createdAt: 0 };
const kept = await new FileReceiverStore(`${FOLDER}/events`).keep(event);
const store = new FileReceiverStore(`${FOLDER}/events`);
const again = await store.keep(event);
const [unfinished] = await store.unfinished();
await store.finish(id);
const finished = await store.unfinished();
console.log(`${passed} checks, ${kept} ${again} ${unfinished?.id === id} ${finished.length}`);
