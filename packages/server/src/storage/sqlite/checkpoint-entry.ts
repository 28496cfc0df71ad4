/** Thread that copies the write-ahead log into the database. See checkpoint-thread.ts. */

import { parentPort, workerData } from "node:worker_threads";
import type { CheckpointMessage, CheckpointOrder } from "./checkpoint-thread.ts";
import { openDatabase } from "./open-database.ts";

const { file } = workerData as { readonly file: string };
const database = openDatabase(file, { syncedBy: "writeAheadLog" });
const checkpoint = database.prepare("pragma wal_checkpoint(passive)");

parentPort?.on("message", (order: CheckpointOrder) => {
  if (order === "close") {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(run());
});

function run(): CheckpointMessage {
  try {
    const done = checkpoint.get();
    return { isComplete: done?.busy === 0 && done.log === done.checkpointed };
  } catch {
    return { isComplete: false };
  }
}
