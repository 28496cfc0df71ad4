/**
 * A provider whose instances have receivers, and data folders that it is started with.
 */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { cancelMessage, createMessage, idOf, numberOf, provisionMessage } from "../messages.ts";
import { provision, type Server, startServer } from "../subject.ts";
import { SIGNING_SECRET } from "./messages.ts";
import type { ReceiverGroup } from "./receiver-group.ts";

/** Nothing of the delivery's limits but what is to be measured. */
export const NO_WEBHOOK_RATES = {
  webhook_account_rate: "0",
  webhook_host_rate: "0",
  webhook_address_rate: "0",
  webhook_account_verifications: "0",
  webhook_host_verifications: "0",
};

const LOOPBACK = { webhook_allow_cidrs: "127.0.0.0/8" };

export interface SceneOptions {
  readonly folder: string;
  readonly connections?: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly profile?: string | undefined;
}

export function startNotifying(
  { environment }: ReceiverGroup,
  { folder, connections = 1, settings = {}, profile }: SceneOptions,
): Promise<Server> {
  const all = { ...LOOPBACK, ...settings };
  return startServer({ folder, connections, settings: all, environment, profile });
}

/** @returns the token of a new instance for each receiver */
export async function provisionReceivers(
  receivers: ReceiverGroup,
  { port, provisionerToken }: Server,
): Promise<string[]> {
  const tokens: string[] = [];
  for (let i = 0; i < receivers.hosts; i++) {
    const delivery = {
      type: "webhook",
      url: receivers.url(i),
      registration_id: `0f9a8f1f-1c11-4b9e-9d43-${String(i).padStart(12, "0")}`,
      signing_secret: SIGNING_SECRET,
    };
    const message = provisionMessage(provisionerToken, `bench-${i}`, delivery);
    tokens.push(await provision(port, message));
  }
  return tokens;
}

const FILL_S_MAX = 600;

/** Makes `count` requests and cancels them, the instances in turn, with webhooks off. */
export async function decideUnsent(
  folder: string,
  tokens: readonly string[],
  count: number,
  connections: number,
): Promise<void> {
  const settings = { webhooks_off: "true" };
  const server = await startServer({ folder, connections, settings });
  const made: { id: string; token: string }[] = [];
  let n = 0;
  const tokenOf = (number: number) => tokens[number % tokens.length] ?? "";
  await server.run(
    {
      next: () => (n < count ? createMessage(tokenOf(n), n++) : undefined),
      status: 201,
      onBody: (body) => made.push({ id: idOf(body), token: tokenOf(numberOf(body)) }),
    },
    FILL_S_MAX,
  );
  let cancelled = 0;
  const next = () => {
    const one = made[cancelled++];
    return one === undefined ? undefined : cancelMessage(one.token, one.id);
  };
  await server.run({ next, status: 200 }, FILL_S_MAX);
  await server.stop();
}

/** @returns how many notifications of a folder that no server has open have ended so */
export function countEnded(folder: string, by: string): number {
  const database = new DatabaseSync(join(folder, "countersign.db"), { readOnly: true });
  const row = database
    .prepare("select count(*) as ended from notification where ended_by = ?")
    .get(by);
  database.close();
  return Number(row?.ended);
}
