/**
 * A real server with its data in a scratch folder, a provisioner, and a reviewer who decides.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProvisionInstanceResponse } from "@countersign/protocol";
import { createSelfSigned } from "../../packages/server/test/support/self-signed.ts";
import { exchange } from "../demo/adapter.ts";
import { countersign, startServer } from "../demo/countersign.ts";

const POLICY = `version: 1
rules:
  - { id: reads, match: { tool: Read }, then: approve, valid_for: 1m }
  - { id: reads-of-github, match: { tool: Read, server: github }, then: approve }
  - { id: brief, match: { tool: Brief }, then: approve, valid_for: 1s }
  - id: no-drops
    match: { tool: [db.drop, db_drop] }
    then: deny
    note: Agents must not drop tables.
`;

const PENDING = "/requests?state=pending&limit=200";

/** Interval between two polls for open requests. */
const POLL_INTERVAL_MS = 50;

/** Long enough for others to cancel first, sometimes. */
const ANSWER_EVERY_MS = 500;

/** Responses of the reviewer API; only the members used here. */
export interface Reviewed {
  readonly id: string;
  readonly tool: string;
  readonly status: string;
  readonly arguments_sha256: string;
  readonly decided_by?: string;
  readonly server?: string;
  readonly consumption?: { readonly outcome?: { readonly status: string } };
}

export interface Stage {
  readonly url: string;
  readonly provisionerToken: string;
  /** Files in PEM of a receiver for localhost that the server trusts. */
  readonly certificate: string;
  readonly certificateKey: string;
  /** @returns the credential of a new instance that polls */
  newInstance(): Promise<string>;
  /** Waits until a call of the tool waits for people. */
  pending(tool: string): Promise<Reviewed>;
  read(requestId: string): Promise<Reviewed>;
  /** Waits until the request has ended. */
  ended(requestId: string): Promise<Reviewed>;
  decide(requestId: string, verdict: "approve" | "deny", note?: string): Promise<void>;
  /** Approves and denies pending requests in turn, as a reviewer who is always there. */
  decideAll(until: AbortSignal): Promise<void>;
  /** Resolves when the server has ended. */
  stop(): Promise<void>;
}

/**
 * @param signal ends the waiting for requests
 * @param extensions what the server admits beyond the contract
 * @param settings more of the server's environment
 */
export async function setStage(
  folder: string,
  signal: AbortSignal,
  extensions = "",
  settings: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  const certificate = join(folder, "receiver-cert.pem");
  const certificateKey = join(folder, "receiver-key.pem");
  const files = createSelfSigned();
  mkdirSync(folder, { recursive: true });
  writeFileSync(certificate, files.certificate);
  writeFileSync(certificateKey, files.key, { mode: 0o600 });
  const data = join(folder, "data");
  const admitted = { COUNTERSIGN_EXTENSIONS: extensions, ...settings };
  const server = await startServer(data, certificate, admitted);
  const { url } = server;
  const token = (kind: string, ...more: readonly string[]) =>
    countersign(["tokens", "create", kind, "--name", kind, "--data", data, ...more]);
  try {
    const [provisionerToken, reviewer] = await Promise.all([
      token("provisioner"),
      token("reviewer", "--role", "admin"),
    ]);
    const ask = <T>(path: string, body?: object) =>
      exchange<T>(url, `/review/v1${path}`, reviewer, body && { key: path, body });
    await ask("/policy", { source: POLICY, expected_number: 0 });
    const decide: Stage["decide"] = async (id, verdict, note) => {
      const { arguments_sha256 } = await ask<Reviewed>(`/requests/${id}`);
      await ask(`/requests/${id}/verdict`, { verdict, arguments_sha256, note });
    };
    return {
      url,
      provisionerToken,
      certificate,
      certificateKey,
      decide,
      newInstance: () => provision(url, provisionerToken),
      pending: (tool) =>
        look(signal, async () => {
          const page = await ask<{ readonly requests: readonly Reviewed[] }>(PENDING);
          return page.requests.find((request) => request.tool === tool);
        }),
      read: (id) => ask<Reviewed>(`/requests/${id}`),
      ended: (id) =>
        look(signal, async () => {
          const request = await ask<Reviewed>(`/requests/${id}`);
          return request.status === "pending" ? undefined : request;
        }),
      async decideAll(until) {
        for (let count = 0; !until.aborted; await sleep(ANSWER_EVERY_MS)) {
          const page = ask<{ readonly requests: readonly Reviewed[] }>(PENDING);
          for (const { id } of (await page.catch(() => undefined))?.requests ?? []) {
            if (until.aborted) return;
            // It may have ended meanwhile; a story that misses an answer fails.
            await decide(id, count++ % 2 === 0 ? "approve" : "deny").catch(() => {});
          }
        }
      },
      stop: () => server.stop(),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

let instances = 0;

async function provision(url: string, token: string): Promise<string> {
  instances += 1;
  const submission = { key: `instance-${instances}`, body: {} };
  const path = "/v1/instances";
  const made = await exchange<ProvisionInstanceResponse>(url, path, token, submission);
  return made.credential.token;
}

/** Asks until there is an answer. */
async function look<T>(signal: AbortSignal, ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
}
