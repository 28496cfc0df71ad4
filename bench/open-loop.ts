/**
 * Requests at a fixed rate, whether or not the server has answered earlier ones. A time counts from
 * when a request was due, so a stall counts for each request that was due during it.
 */

import type { Answer, Connection } from "./connection.ts";
import { createMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { percentile } from "./statistics.ts";
import { type Subject, startSubject } from "./subject.ts";
import { ms, perSecond, reportProgress, table } from "./table.ts";

export interface OpenLoop {
  readonly perSecond: number;
  readonly exchanges: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The longest iteration of the server's event loop. */
  readonly loopMaxMs: number;
}

const RATES = [300, 1_000];
const WARM_UP_S = 5;

/** Creations that a policy of 200 rules approves, on a new SQLite database for each rate. */
export async function measureOpenLoop({
  rounds,
  seconds,
  connections,
}: Options): Promise<OpenLoop[]> {
  const results: OpenLoop[] = [];
  for (const rate of RATES) {
    reportProgress(`open-loop: ${rate} per second for ${rounds * seconds} s`);
    results.push(await measureRate(rate, rounds * seconds, connections));
  }
  return results;
}

async function measureRate(rate: number, seconds: number, connections: number): Promise<OpenLoop> {
  const subject = await startSubject({ connections, policy: policyOfManyRules() });
  try {
    await send(subject, rate, WARM_UP_S);
    await subject.watchLoop();
    const latenciesMs = await send(subject, rate, seconds);
    return {
      perSecond: rate,
      exchanges: latenciesMs.length,
      p50Ms: percentile(latenciesMs, 50),
      p99Ms: percentile(latenciesMs, 99),
      p999Ms: percentile(latenciesMs, 99.9),
      maxMs: percentile(latenciesMs, 100),
      loopMaxMs: await subject.longestIteration(),
    };
  } finally {
    await subject.stop();
  }
}

/** @returns ms from the time that each request was due to its response */
function send(
  { connections, token, nextNumber }: Subject,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<number[]>();
  const idle = [...connections];
  const total = Math.round(rate * seconds);
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const dueAt = (i: number) => startedAt + (i * 1_000) / rate;
  let sent = 0;

  function sendDue(): void {
    while (sent < total && dueAt(sent) <= performance.now()) {
      const connection = idle.pop();
      if (connection === undefined) return;
      exchange(connection, dueAt(sent));
      sent++;
    }
  }

  function exchange(connection: Connection, due: number): void {
    const settle = ({ status, body }: Answer) => {
      if (status !== 201) return reject(new Error(`got ${status}: ${body.toString("utf8")}`));
      latenciesMs.push(performance.now() - due);
      idle.push(connection);
      if (latenciesMs.length === total) resolve(latenciesMs);
      else sendDue();
    };
    connection.send(createMessage(token, nextNumber()), settle, reject);
  }

  const timer = setInterval(sendDue, 1);
  return promise.finally(() => clearInterval(timer));
}

export function openLoopTable(results: readonly OpenLoop[]): string {
  return table([
    ["creates at a fixed rate", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "event loop max ms"],
    ...results.map((result) => [
      `${perSecond(result.perSecond)} per second`,
      ms(result.p50Ms),
      ms(result.p99Ms),
      ms(result.p999Ms),
      ms(result.maxMs),
      ms(result.loopMaxMs),
    ]),
  ]);
}
