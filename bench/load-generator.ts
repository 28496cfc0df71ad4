/**
 * Drives connections as hard as they go: each sends its next request when its last is answered.
 */

import type { Answer, Connection } from "./connection.ts";
import { percentile } from "./statistics.ts";

export interface Load {
  /** Text of the next request; undefined when there are no more, which ends the run early. */
  readonly next: () => string | undefined;
  /** The only status that is not a failure. */
  readonly status: number;
  readonly onBody?: (body: Buffer) => void;
}

export interface Outcome {
  readonly exchanges: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** @throws Error at the first answer with another status: a rate of failures says nothing */
export function runLoad(
  connections: readonly Connection[],
  load: Load,
  seconds: number,
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let busy = connections.length;

  function drive(connection: Connection): void {
    let sentAt = 0;
    const settle = (answer: Answer) => {
      if (answer.status !== load.status) {
        const text = answer.body.toString("utf8");
        reject(new Error(`expected status ${load.status}, got ${answer.status}: ${text}`));
        return;
      }
      const now = performance.now();
      latenciesMs.push(now - sentAt);
      load.onBody?.(answer.body);
      if (now < endsAt) send();
      else finish();
    };
    const send = () => {
      const request = load.next();
      if (request === undefined) return finish();
      sentAt = performance.now();
      connection.send(request, settle, reject);
    };
    send();
  }

  function finish(): void {
    busy--;
    if (busy === 0) resolve(summarize(latenciesMs, (performance.now() - startedAt) / 1000));
  }

  connections.forEach(drive);
  return promise;
}

/** @param seconds from the first request to the last answer */
export function summarize(latenciesMs: readonly number[], seconds: number): Outcome {
  return {
    exchanges: latenciesMs.length,
    seconds,
    perSecond: latenciesMs.length / seconds,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
  };
}
