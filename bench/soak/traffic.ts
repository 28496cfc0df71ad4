/**
 * What agents, reviewers and a provisioner do all day, at a steady pace: requests that are read,
 * approved and taken back, polls that wait for a verdict, instances that come and go.
 *
 * Called by: soak.ts.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, Connection, expectAnswer } from "../connection.ts";
import {
  approveMessage,
  cancelMessage,
  createMessage,
  deleteInstanceMessage,
  idOf,
  provisionMessage,
  readMessage,
} from "../messages.ts";
import type { Server } from "../subject.ts";

export interface Traffic {
  /** Milliseconds of every creation since it was last asked for. */
  takeLatencies(): number[];
  /** Of everything. */
  readonly exchanges: number;
  readonly deletions: number;
  stop(): Promise<void>;
}

const AGENTS = 8;
/** Of each agent, between two requests. */
const PAUSE_MS = 60;
/** Between two instances that come and go. */
const INSTANCE_PAUSE_MS = 2_000;
const REQUESTS_OF_INSTANCE = 5;

/**
 * @param tokens of instances that stay
 * @param deliveryOf of an instance that goes: some receiver
 */
export async function startTraffic(
  server: Server,
  tokens: readonly string[],
  firstNumber: number,
  deliveryOf: (n: number) => object,
): Promise<Traffic> {
  const { port, reviewerToken, provisionerToken } = server;
  let [n, exchanges, deletions] = [firstNumber, 0, 0];
  let latencies: number[] = [];
  let isOver = false;
  const connect = () => Connection.open(port);
  const say = async (connection: Connection, message: string): Promise<Answer> => {
    exchanges++;
    const { status, body } = await connection.exchange(message);
    // The bytes are the connection's until its next answer.
    return { status, body: Buffer.from(body) };
  };
  const submit = async (connection: Connection, token: string, number: number): Promise<string> => {
    const sentAt = performance.now();
    const made = await say(connection, createMessage(token, number));
    latencies.push(performance.now() - sentAt);
    expectAnswer(made, 201, "pending");
    return idOf(made.body);
  };

  async function beAgent(token: string): Promise<void> {
    const [agent, reviewer] = [await connect(), await connect()];
    for (let turn = 0; !isOver; turn++) {
      const number = n++;
      const id = await submit(agent, token, number);
      if (turn % 3 === 0) {
        expectAnswer(await say(agent, cancelMessage(token, id)), 200, "cancelled");
      } else {
        const polled = say(agent, readMessage(token, id, "20s"));
        const approval = say(reviewer, approveMessage(reviewerToken, id, number));
        expectAnswer(await approval, 200, "approved");
        expectAnswer(await polled, 200, "approved");
      }
      await sleep(PAUSE_MS);
    }
    agent.close();
    reviewer.close();
  }

  async function comeAndGo(): Promise<void> {
    const connection = await connect();
    for (let turn = 0; !isOver; turn++) {
      const message = provisionMessage(provisionerToken, `guest-${turn}`, deliveryOf(turn));
      const { status, body } = await say(connection, message);
      if (status !== 201) throw new Error(`provisioning answered ${status}: ${body}`);
      const { instance, credential } = JSON.parse(body.toString("utf8")) as {
        readonly instance: { readonly id: string };
        readonly credential: { readonly token: string };
      };
      for (let i = 0; i < REQUESTS_OF_INSTANCE; i++) {
        const id = await submit(connection, credential.token, n++);
        if (i % 2 === 0) await say(connection, cancelMessage(credential.token, id));
      }
      const gone = await say(connection, deleteInstanceMessage(provisionerToken, instance.id));
      if (gone.status !== 204) throw new Error(`a deletion answered ${gone.status}`);
      deletions++;
      await sleep(INSTANCE_PAUSE_MS);
    }
    connection.close();
  }

  const agents = Array.from({ length: AGENTS }, (_, i) => beAgent(tokens[i % tokens.length] ?? ""));
  const all = Promise.all([...agents, comeAndGo()]);
  // Seen at the end, when it is waited for.
  all.catch(() => {});
  return {
    takeLatencies() {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    get exchanges() {
      return exchanges;
    },
    get deletions() {
      return deletions;
    },
    async stop() {
      isOver = true;
      await all;
    },
  };
}
