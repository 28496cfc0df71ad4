/**
 * The receivers as the rest of the benchmark sees them.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSelfSigned } from "../../packages/server/test/support/self-signed.ts";
import { type Child, startChild } from "../children.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import { type Arrival, type Behaviour, type Counted, hostName, type Word } from "./messages.ts";

export interface ReceiverGroup {
  readonly hosts: number;
  readonly port: number;
  /** Makes a child process trust them. */
  readonly environment: NodeJS.ProcessEnv;
  url(i: number): string;
  behave(i: number, as: Behaviour): void;
  /** From now on every notification is reported. */
  watch(onArrival: (arrival: Arrival) => void): void;
  /**
   * Counts notifications from now on, the first `skipped` to warm up.
   *
   * @returns when the receivers are counting
   */
  count(skipped: number, until: number): Promise<Counting>;
  stop(): Promise<void>;
}

export interface Counting {
  /** The first ones are over. */
  readonly skipped: Promise<void>;
  readonly counted: Promise<Counted>;
}

export async function startReceivers(hosts: number): Promise<ReceiverGroup> {
  const folder = temporaryFolder();
  const addresses = Array.from({ length: hosts }, (_, i) => hostName(i));
  const { key, certificate } = createSelfSigned({ names: ["localhost"], addresses });
  const [keyFile, certificateFile] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  writeFileSync(keyFile, key, { mode: 0o600 });
  writeFileSync(certificateFile, certificate);
  const args = [String(hosts), keyFile, certificateFile];
  const child = await startChild<{ port: number }>({ file: "webhooks/receivers.ts", args });
  const { port } = child.ready;
  return {
    hosts,
    port,
    environment: { NODE_EXTRA_CA_CERTS: certificateFile },
    url: (i) => `https://${hostName(i)}:${port}/hook`,
    behave: (i, as) => child.process.send({ kind: "behave", host: hostName(i), as }),
    watch(onArrival) {
      child.process.on("message", (word: Word) => {
        if (word.kind === "arrived") onArrival(word);
      });
      child.process.send({ kind: "watch" });
    },
    async count(skipped, until) {
      const counting = nextMessage(child, "counting");
      const counts = {
        skipped: nextMessage(child, "skipped").then(() => {}),
        counted: counted(child),
      };
      child.process.send({ kind: "count", skipped, until });
      await counting;
      return counts;
    },
    async stop() {
      await child.stop();
      removeFolder(folder);
    },
  };
}

function counted(child: Child<unknown>): Promise<Counted> {
  return nextMessage(child, "counted") as Promise<Counted>;
}

function nextMessage(child: Child<unknown>, kind: Word["kind"]): Promise<Word> {
  return new Promise((resolve) => {
    const listen = (word: Word) => {
      if (word.kind !== kind) return;
      child.process.off("message", listen);
      resolve(word);
    };
    child.process.on("message", listen);
  });
}
