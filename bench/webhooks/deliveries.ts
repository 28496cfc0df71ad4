/**
 * All that is measured about the delivery of notifications, and how it is printed.
 */

import type { Options } from "../options.ts";
import type { Spread } from "../statistics.ts";
import { mb, ms, percent, perSecond, table } from "../table.ts";
import { type Drain, drainQueues } from "./drain.ts";
import { type FirstByte, type FirstByteTimes, timeFirstBytes } from "./first-byte.ts";
import { type Beside, type Isolation, isolate } from "./isolation.ts";

export interface Deliveries {
  readonly drains: readonly Drain[];
  readonly firstByte: FirstByte;
  readonly isolation: Isolation;
}

export async function measureDeliveries(options: Options): Promise<Deliveries> {
  return {
    drains: await drainQueues(options),
    firstByte: await timeFirstBytes(),
    isolation: await isolate(options),
  };
}

export function deliveryTables({ drains, firstByte, isolation }: Deliveries): string[] {
  return [drainTable(drains), firstByteTable(firstByte), isolationTable(isolation)];
}

function drainTable(drains: readonly Drain[]): string {
  return table([
    [
      "notifications to",
      "of the reference",
      "per second",
      "CPU us",
      "reference per second",
      "CPU us",
    ],
    ...drains.map(({ hosts, subject, floor, ratio }) => [
      hosts === 1 ? "1 host" : `${hosts} hosts`,
      percent(ratio),
      perSecond(subject.perSecond),
      subject.cpuUs.toFixed(0),
      perSecond(floor.perSecond),
      floor.cpuUs.toFixed(0),
    ]),
  ]);
}

function firstByteTable({ warm, cold }: FirstByte): string {
  const rows = (name: string, { fromCommitMs, fromSendingMs }: FirstByteTimes) => [
    [`from the response to the verdict, ${name}`, ...times(fromCommitMs)],
    [`from sending the verdict, ${name}`, ...times(fromSendingMs)],
  ];
  return table([
    ["ms to the first byte at the receiver", "p50", "p99", "max"],
    ...rows("open connection", warm),
    ...rows("new connection", cold),
  ]);
}

function isolationTable({ queued, attempts, empty, full }: Isolation): string {
  const row = (name: string, { fromSendingMs, memoryMaxMb, cpu }: Beside) => [
    name,
    ...times(fromSendingMs),
    mb(memoryMaxMb),
    percent(cpu),
  ];
  const beside = table([
    ["ms from a decision to a healthy receiver", "p50", "p99", "max", "memory MB", "CPU"],
    row("alone", empty),
    row(`beside an unreachable host with ${perSecond(queued)} queued`, full),
  ]);
  return `${beside}\n\n${full.decisions} decisions; ${attempts} attempts at the unreachable host.`;
}

function times({ p50, p99, max }: Spread): string[] {
  return [ms(p50), ms(p99), ms(max)];
}
