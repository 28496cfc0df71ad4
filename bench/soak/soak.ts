/**
 * `npm run soak -- --minutes 10`: mixed traffic at a steady pace beside 5,000 long polls, with
 * deletions and with receivers of which one never answers. Prints memory, open files and latency
 * of the server every few seconds, and at the end whether they stayed as they were; ends with 1
 * when they did not.
 */

import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { residentMb, startChild } from "../children.ts";
import { Connection } from "../connection.ts";
import { openPolls } from "../long-polls.ts";
import { createMessage, getMessage, idOf, numberOf } from "../messages.ts";
import { percentile } from "../statistics.ts";
import type { Filled, Server } from "../subject.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import { SIGNING_SECRET } from "../webhooks/messages.ts";
import { startReceivers } from "../webhooks/receiver-group.ts";
import { NO_WEBHOOK_RATES, provisionReceivers, startNotifying } from "../webhooks/scene.ts";
import { type Allowed, judgeFlatness, type Sample, troughsOf } from "./flatness.ts";
import { startTraffic } from "./traffic.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    polls: { type: "string", default: "5000" },
  },
});
const [minutes, polls] = [Number(values.minutes), Number(values.polls)];
if (!(minutes > 0) || !(polls >= 0)) throw new Error("--minutes and --polls are numbers");

const HOSTS = 3;
/** Answers nothing, so that every attempt at it lasts as long as it may. */
const DEAD_HOST = 2;
const SAMPLE_MS = 5_000;
/** A collection or more is among so many samples. */
const SAMPLES_PER_TROUGH = 12;
const FILL_S_MAX = 300;
/** Of the whole: caches fill, and the compiler is busy. */
const WARM_UP = 0.2;

/**
 * Memory is what the process has of the machine: V8 lets its heap grow for minutes and keeps what
 * it had. Live is what is left of the heap after a collection, the lowest of each minute: what
 * leaks is in it, and what was not collected yet is not. A latency is another thing on a machine
 * that has other things to do.
 */
const ALLOWED = {
  memoryMb: { factor: 1.1, more: 10 },
  liveMb: { factor: 1.05, more: 5 },
  files: { factor: 1.02, more: 16 },
  p50Ms: { factor: 1.5, more: 2 },
} as const satisfies Record<string, Allowed>;

type Measure = keyof typeof ALLOWED;

const folder = temporaryFolder();
const receivers = await startReceivers(HOSTS);
receivers.behave(DEAD_HOST, "hang");
const settings = { ...NO_WEBHOOK_RATES, connections_max: String(polls + 1_000) };
const server = await startNotifying(receivers, { folder, connections: 8, settings });
const client = await startChild<"started">({ file: "poll-client.ts" });
try {
  const tokens = await provisionReceivers(receivers, server);
  console.log(`making ${polls} requests and polling them`);
  const pending = await fillPending(server, tokens[0] ?? "");
  await openPolls(client, { ...server, token: tokens[0] ?? "" }, pending);
  const samples = await soak(tokens);
  if (!report(samples)) process.exitCode = 1;
} finally {
  await client.stop();
  await server.stop();
  await receivers.stop();
  removeFolder(folder);
}

async function fillPending({ run }: Server, token: string): Promise<Filled[]> {
  const filled: Filled[] = [];
  let n = 0;
  const next = () => (n < polls ? createMessage(token, n++) : undefined);
  const onBody = (body: Buffer) => filled.push({ id: idOf(body), n: numberOf(body) });
  await run({ next, status: 201, onBody }, FILL_S_MAX);
  return filled;
}

async function soak(tokens: readonly string[]): Promise<Record<Measure, Sample[]>> {
  const traffic = startTraffic(server, tokens, polls, (n) => ({
    type: "webhook",
    url: receivers.url(n % HOSTS),
    registration_id: `0f9a8f1f-1c11-4b9e-9d44-${String(n).padStart(12, "0")}`,
    signing_secret: SIGNING_SECRET,
  }));
  const samples: Record<Measure, Sample[]> = { memoryMb: [], liveMb: [], files: [], p50Ms: [] };
  const startedAt = performance.now();
  const secondsSince = () => (performance.now() - startedAt) / 1_000;
  while (secondsSince() < minutes * 60) {
    await sleep(SAMPLE_MS);
    const atS = secondsSince();
    const latencies = traffic.takeLatencies();
    const memoryMb = residentMb(server.pid);
    const files = readdirSync(`/proc/${server.pid}/fd`).length;
    const [p50Ms, p99Ms] = [percentile(latencies, 50), percentile(latencies, 99)];
    const { held, waiting, heapMb } = await gauges();
    if (latencies.length === 0) throw new Error("nothing was answered for a while");
    console.log(
      `${atS.toFixed(0).padStart(6)} s  ${memoryMb.toFixed(0)} MB, heap ${heapMb.toFixed(0)} MB  ` +
        `${files} files  create p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms  ` +
        `${held} polls held, ${waiting} notifications wait`,
    );
    if (atS < minutes * 60 * WARM_UP) continue;
    samples.memoryMb.push({ atS, value: memoryMb });
    samples.liveMb.push({ atS, value: heapMb });
    samples.files.push({ atS, value: files });
    samples.p50Ms.push({ atS, value: p50Ms });
  }
  await traffic.stop();
  samples.liveMb = troughsOf(samples.liveMb, SAMPLES_PER_TROUGH);
  console.log(`${traffic.exchanges} exchanges, ${traffic.deletions} instances deleted`);
  return samples;
}

/** The gauges of the server. */
async function gauges(): Promise<Record<"held" | "waiting" | "heapMb", number>> {
  const connection = await Connection.open(server.port);
  const { body } = await connection.exchange(getMessage("/metrics"));
  const text = body.toString("utf8");
  connection.close();
  const of = (name: string) => Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
  const heap = of("nodejs_heap_size_used_bytes") + of("nodejs_external_memory_bytes");
  return {
    held: of("countersign_polls_held"),
    waiting: of("countersign_deliveries_waiting"),
    heapMb: heap / 1e6,
  };
}

/** @returns whether all of it stayed flat */
function report(samples: Record<Measure, Sample[]>): boolean {
  let isFlat = true;
  for (const [name, allowed] of Object.entries(ALLOWED)) {
    const judged = judgeFlatness(samples[name as Measure], allowed);
    const { first, last, slopePerHour } = judged;
    const verdict = judged.isFlat ? "flat" : "NOT FLAT";
    console.log(
      `${name.padEnd(8)} ${first.toFixed(1)} in the first third, ${last.toFixed(1)} in the last, ` +
        `${slopePerHour.toFixed(1)} per hour: ${verdict}`,
    );
    isFlat &&= judged.isFlat;
  }
  return isFlat;
}
