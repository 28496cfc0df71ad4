/**
 * Verifications that a test answers itself, at its own time, and what the provider has stored
 * about them.
 */

import type { TestContext } from "node:test";
import type { WebhookVerification } from "@countersign/protocol";
import { asInserted, ENGINE, withDatabase } from "./engine.ts";
import type { TestProvider } from "./test-provider.ts";
import type { AnswerMessage, Received } from "./tls-receiver.ts";
import { PATIENCE_MS, until } from "./until.ts";
import { startWebhookScene, type WebhookScene, type WebhookSceneOptions } from "./webhook-scene.ts";

/** One that has arrived and waits for its answer. */
export interface ManualVerification {
  readonly received: Received;
  readonly message: WebhookVerification;
  /** Answers as a receiver that accepts. */
  accept(): void;
  /** Answers as one that does not. */
  refuse(): void;
}

/** Give `receive` to a scene as its `onVerification`. */
export class ManualVerifications {
  readonly all: ManualVerification[] = [];
  readonly receive: AnswerMessage;

  constructor() {
    this.receive = (received, response) => {
      const message = JSON.parse(received.body.toString()) as WebhookVerification;
      // A test that waits for what cannot come any more fails instead of hanging.
      setTimeout(() => response.destroy(), PATIENCE_MS).unref();
      this.all.push({
        received,
        message,
        accept: () => void response.writeHead(200).end(challengeOf(message)),
        refuse: () => void response.writeHead(403).end(),
      });
    };
  }

  /** @param ordinal from 1; also when it is still to come */
  async arrived(ordinal: number): Promise<ManualVerification> {
    await until(() => this.all.length >= ordinal, `verification ${ordinal} arrives`);
    const verification = this.all[ordinal - 1];
    if (verification === undefined) throw new Error(`there is no verification ${ordinal}`);
    return verification;
  }
}

/** The body of a receiver that accepts. */
export function challengeOf({ challenge }: WebhookVerification): string {
  return JSON.stringify({ challenge });
}

/** Tables in which a provisioning or an update leaves something. */
const TABLES = ["instance", "credential", "idempotency", "receiver", "audit_entry"] as const;

export type Rows = Readonly<Record<(typeof TABLES)[number], number>>;

/** How many rows there are of everything that a provisioning or an update can leave. */
export async function countRows({ provider }: TestProvider): Promise<Rows> {
  // The log is begun some time after the start, whatever is asked meanwhile.
  const counts = TABLES.map((table) => {
    const counted = table === "audit_entry" ? `${table} where kind <> 'audit.begun'` : table;
    return `(select count(*) from ${counted}) as ${table}`;
  });
  const row = await provider.context.store.get(`select ${counts.join(", ")}`);
  return { ...row } as Rows;
}

/** A row of the table `verification`, as far as tests read it. */
export interface VerificationRow {
  readonly instance_id: string;
  readonly fence: number;
  readonly lease_until: number;
  readonly failure: string | null;
}

export async function verificationRows({ provider }: TestProvider): Promise<VerificationRow[]> {
  const { store } = provider.context;
  const sql = `select instance_id, fence, lease_until, failure from verification
    order by ${asInserted(store)}`;
  const rows = await store.all(sql);
  return rows.map((row) => ({ ...row }) as unknown as VerificationRow);
}

/**
 * Makes of the one attempt that failed one that is under way and whose holder is gone: what a
 * crash in the middle of a verification leaves behind.
 *
 * @param leaseUntil epoch ms
 */
export async function forgetHolder({ provider }: TestProvider, leaseUntil: number): Promise<void> {
  const sql = "update verification set failure = null, lease_until = $1";
  await provider.context.store.transact((tx) => tx.run(sql, [leaseUntil]));
}

/**
 * Keeps the database from being written by anybody else, as a long command beside the server
 * would: the server's commits fail after a while.
 *
 * @returns lets go
 */
export async function lockDatabase({ data }: TestProvider): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const ended = withDatabase(data, async (database) => {
    for (const statement of LOCK_EVERYTHING) await database.run(statement);
    locked.resolve();
    await release.promise;
    await database.run("rollback");
  });
  await Promise.race([locked.promise, ended]);
  return () => {
    release.resolve();
    return ended;
  };
}

const LOCK_EVERYTHING =
  ENGINE === "sqlite"
    ? ["begin immediate"]
    : ["begin", "lock table instance, credential, verification, idempotency in exclusive mode"];

/** A scene whose verifications wait for the test, and that knows how many calls have joined one. */
export interface ManualScene extends WebhookScene {
  readonly manual: ManualVerifications;
  /** Resolves when so many more calls than now wait for an attempt that is not theirs. */
  joined(count: number): Promise<void>;
}

export async function startManualScene(
  t: TestContext,
  options: Omit<WebhookSceneOptions, "onVerification"> = {},
): Promise<ManualScene> {
  const manual = new ManualVerifications();
  const scene = await startWebhookScene(t, { ...options, onVerification: manual.receive });
  // A call that joins listens for the end of the attempt; the mock passes every signal on.
  const { mock } = t.mock.method(scene.server.provider.context.wake, "onSignal");
  return {
    ...scene,
    manual,
    joined(count) {
      const target = mock.callCount() + count;
      return until(() => mock.callCount() >= target, `${count} calls join`);
    },
  };
}
