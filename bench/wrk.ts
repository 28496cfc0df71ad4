/** Creations that a policy approves at once, by a load generator of others: wrk (Debian: `wrk`). */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { toolCall } from "./messages.ts";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { median } from "./statistics.ts";
import { startFloor, startSubject, type Target } from "./subject.ts";
import { ms, percent, perSecond, reportProgress, table } from "./table.ts";

export interface WrkRate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface WrkResults {
  /** Medians of the rounds. */
  readonly floor: WrkRate;
  readonly subject: WrkRate;
  /** Of the rate of the reference: median, lowest and highest round. */
  readonly ratio: number;
  readonly spread: readonly [number, number];
}

interface Aim {
  readonly target: Target;
  readonly path: string;
  readonly token: string;
}

const WARM_UP_S = 3;

/** @throws Error when wrk is missing, or for a response that is not a success */
export async function measureWithWrk(options: Options): Promise<WrkResults> {
  const { rounds, seconds, connections } = options;
  const subject = await startSubject({ connections: 0, policy: policyOfManyRules() });
  const floor = await startFloor(0);
  const echo = { target: floor, path: "/echo", token: "none" };
  const create = { target: subject, path: "/v1/requests", token: subject.token };
  try {
    await runWrk(echo, connections, WARM_UP_S);
    await runWrk(create, connections, WARM_UP_S);
    const turns: { readonly floor: WrkRate; readonly subject: WrkRate }[] = [];
    for (let round = 1; round <= rounds; round++) {
      reportProgress(`wrk: round ${round} of ${rounds}`);
      turns.push({
        floor: await runWrk(echo, connections, seconds),
        subject: await runWrk(create, connections, seconds),
      });
    }
    const ratios = turns.map((turn) => turn.subject.perSecond / turn.floor.perSecond);
    return {
      floor: medians(turns.map((turn) => turn.floor)),
      subject: medians(turns.map((turn) => turn.subject)),
      ratio: median(ratios),
      spread: [Math.min(...ratios), Math.max(...ratios)],
    };
  } finally {
    await floor.stop();
    await subject.stop();
  }
}

function medians(rates: readonly WrkRate[]): WrkRate {
  return {
    perSecond: median(rates.map((rate) => rate.perSecond)),
    p50Ms: median(rates.map((rate) => rate.p50Ms)),
    p99Ms: median(rates.map((rate) => rate.p99Ms)),
  };
}

/** Keys of idempotency must differ between runs. */
let runs = 0;

async function runWrk(
  { target, path, token }: Aim,
  connections: number,
  seconds: number,
): Promise<WrkRate> {
  const url = `http://127.0.0.1:${target.port}`;
  const script = join(import.meta.dirname, "wrk.lua");
  const args = ["-t1", `-c${connections}`, `-d${Math.ceil(seconds)}s`, "-s", script, url];
  runs++;
  const env = {
    ...process.env,
    BENCH_PATH: path,
    BENCH_TOKEN: token,
    BENCH_BODY: toolCall(0),
    BENCH_RUN: `run-${runs}-`,
  };
  const child = spawn("wrk", args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close").catch((error) => {
    throw new Error("wrk does not start: install it (Debian: apt install wrk)", { cause: error });
  });
  const [output] = await Promise.all([text(child.stdout), ended]);
  const [, requests, durationUs, p50Us, p99Us, errors] =
    /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(output)?.map(Number) ?? [];
  if (errors !== 0 || requests === undefined || durationUs === undefined) {
    throw new Error(`wrk reports errors:\n${output}`);
  }
  return {
    perSecond: requests / (durationUs / 1e6),
    p50Ms: (p50Us ?? Number.NaN) / 1_000,
    p99Ms: (p99Us ?? Number.NaN) / 1_000,
  };
}

export function wrkTable({ floor, subject, ratio, spread }: WrkResults): string {
  const rate = (each: WrkRate) => [perSecond(each.perSecond), ms(each.p50Ms), ms(each.p99Ms)];
  return table([
    ["wrk", "per second", "p50 ms", "p99 ms", "of the reference", "spread"],
    ["the reference", ...rate(floor), "", ""],
    [
      "creates that a policy approves",
      ...rate(subject),
      percent(ratio),
      `${percent(spread[0])} to ${percent(spread[1])}`,
    ],
  ]);
}
