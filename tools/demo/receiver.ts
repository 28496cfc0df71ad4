/**
 * Runs examples/webhook-receiver as a process of its own, with a certificate made on the fly.
 */

import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { RequestResolvedEvent } from "@countersign/protocol";
import { createSelfSigned } from "../../packages/server/test/support/self-signed.ts";

const RECEIVER = join(import.meta.dirname, "../../examples/webhook-receiver/receiver.mjs");

/** Far above what anything here takes: a demonstration that hangs says so. */
const WAIT_MS_MAX = 15_000;

/** The agreement between a provisioner and the receiver. */
export interface Registration {
  readonly id: string;
  readonly secret: string;
}

/** A folder as the receiver wants it. */
export interface Prepared {
  readonly folder: string;
  readonly registration: Registration;
  /** File. */
  readonly certificate: string;
}

export function prepareReceiver(folder: string): Prepared {
  const certificate = join(folder, "tls-cert.pem");
  const registration = {
    id: randomUUID(),
    secret: `whsec_${randomBytes(32).toString("base64")}`,
  };
  const files = createSelfSigned();
  mkdirSync(folder);
  writeFileSync(certificate, files.certificate);
  writeFileSync(join(folder, "tls-key.pem"), files.key, { mode: 0o600 });
  const registrations = JSON.stringify({ [registration.id]: registration.secret });
  writeFileSync(join(folder, "registrations.json"), registrations, { mode: 0o600 });
  return { folder, registration, certificate };
}

export interface RunningReceiver {
  readonly url: string;
  /** The next event that it has kept. */
  next(): Promise<RequestResolvedEvent>;
  /** Resolves when the process has ended. */
  stop(): Promise<void>;
}

export async function startReceiver({ folder }: Prepared): Promise<RunningReceiver> {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, [RECEIVER, folder, "0"], { stdio: [...stdio] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    const port = (await nextLine(lines)).replace("listening on port ", "");
    return {
      url: `https://localhost:${port}/hook`,
      next: async () => JSON.parse(await nextLine(lines)) as RequestResolvedEvent,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function nextLine(lines: Interface): Promise<string> {
  const [line] = await once(lines, "line", { signal: AbortSignal.timeout(WAIT_MS_MAX) });
  return line as string;
}
