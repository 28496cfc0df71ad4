/**
 * A steady load of agents, reviewers and a provisioner: they read, approve and cancel requests,
 * poll for verdicts, create instances and delete them.
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
const TOO_MANY = 429;

/**
 * @param tokens of instances that stay
 * @param deliveryOf of an instance that goes: some receiver
 */
export function startTraffic(
  server: Server,
  tokens: readonly string[],
  firstNumber: number,
  deliveryOf: (n: number) => object,
): Traffic {
  const flow = new Flow(server, firstNumber);
  const tokenOf = (i: number) => tokens[i % tokens.length] ?? "";
  const agents = Array.from({ length: AGENTS }, (_, i) => flow.beAgent(tokenOf(i)));
  const all = Promise.all([...agents, flow.comeAndGo(deliveryOf)]);
  // Seen at the end, when it is waited for.
  all.catch(() => {});
  return {
    takeLatencies: () => flow.takeLatencies(),
    get exchanges() {
      return flow.exchanges;
    },
    get deletions() {
      return flow.deletions;
    },
    async stop() {
      flow.isOver = true;
      await all;
    },
  };
}

class Flow {
  exchanges = 0;
  deletions = 0;
  isOver = false;
  readonly #server: Server;
  #latencies: number[] = [];
  #n: number;

  constructor(server: Server, firstNumber: number) {
    this.#server = server;
    this.#n = firstNumber;
  }

  takeLatencies(): number[] {
    const taken = this.#latencies;
    this.#latencies = [];
    return taken;
  }

  async beAgent(token: string): Promise<void> {
    const { port, reviewerToken } = this.#server;
    const [agent, reviewer] = [await Connection.open(port), await Connection.open(port)];
    for (let turn = 0; !this.isOver; turn++) {
      const number = this.#n++;
      const id = await this.#submit(agent, token, number);
      if (turn % 3 === 0) {
        expectAnswer(await this.#say(agent, cancelMessage(token, id)), 200, "cancelled");
      } else {
        const polled = this.#say(agent, readMessage(token, id, "20s"));
        const approval = this.#say(reviewer, approveMessage(reviewerToken, id, number));
        expectAnswer(await approval, 200, "approved");
        expectAnswer(await polled, 200, "approved");
      }
      await sleep(PAUSE_MS);
    }
    agent.close();
    reviewer.close();
  }

  async comeAndGo(deliveryOf: (n: number) => object): Promise<void> {
    const { port, provisionerToken } = this.#server;
    const connection = await Connection.open(port);
    for (let turn = 0; !this.isOver; turn++) {
      const message = provisionMessage(provisionerToken, `guest-${turn}`, deliveryOf(turn));
      const { status, body } = await this.#say(connection, message);
      if (status === TOO_MANY) {
        // Attempts that hang have every place at the dead host, which also verifications need.
        await sleep(INSTANCE_PAUSE_MS);
        continue;
      }
      if (status !== 201) throw new Error(`provisioning answered ${status}: ${body}`);
      const { instance, credential } = JSON.parse(body.toString("utf8")) as {
        readonly instance: { readonly id: string };
        readonly credential: { readonly token: string };
      };
      for (let i = 0; i < REQUESTS_OF_INSTANCE; i++) {
        const id = await this.#submit(connection, credential.token, this.#n++);
        if (i % 2 === 0) await this.#say(connection, cancelMessage(credential.token, id));
      }
      const gone = await this.#say(
        connection,
        deleteInstanceMessage(provisionerToken, instance.id),
      );
      if (gone.status !== 204) throw new Error(`a deletion answered ${gone.status}`);
      this.deletions++;
      await sleep(INSTANCE_PAUSE_MS);
    }
    connection.close();
  }

  async #submit(connection: Connection, token: string, number: number): Promise<string> {
    const sentAt = performance.now();
    const made = await this.#say(connection, createMessage(token, number));
    this.#latencies.push(performance.now() - sentAt);
    expectAnswer(made, 201, "pending");
    return idOf(made.body);
  }

  async #say(connection: Connection, message: string): Promise<Answer> {
    this.exchanges++;
    const { status, body } = await connection.exchange(message);
    // The bytes are the connection's until its next answer.
    return { status, body: Buffer.from(body) };
  }
}
