/**
 * The capacity model against what is known of queues, of chance and of its own arithmetic.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cellOf, shardCapacity } from "./cell.ts";
import { loseReplica, returnShard, stallShard } from "./loss.ts";
import { OPERATION_COSTS, ROW_BYTES } from "./measured.ts";
import { imageBytes, largest, plan, pollsHeld, ratesOf, storageOf } from "./model.ts";
import { readOptions, usage } from "./options.ts";
import { needs } from "./print.ts";
import { latenciesAt, type System } from "./queue.ts";
import { exponential, logNormal, seeded } from "./random.ts";
import { fullestByChance, outgrownAt, shardsFor, unevenness, zipfShares } from "./shards.ts";
import { Places, Simulation } from "./simulation.ts";

const DEFAULTS = readOptions([]) ?? assert.fail("no options");
const { demand, machines, population } = DEFAULTS;

function isNear(actual: number, expected: number, share: number, what?: string): void {
  const message = `${what ?? "it"} is ${actual}, expected about ${expected}`;
  assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * share, message);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

test("chance is the same for the same seed, another for another, and even", () => {
  const draw = (seed: number, count: number) => Array.from({ length: count }, seeded(seed));
  assert.deepEqual(draw(1, 20), draw(1, 20));
  assert.notDeepEqual(draw(1, 20), draw(2, 20));
  const values = draw(3, 50_000);
  isNear(mean(values), 0.5, 0.01);
  assert.ok(values.every((value) => value >= 0 && value < 1));
});

test("times have the mean and the variation that they were asked for", () => {
  const chance = seeded(4);
  const waits = Array.from({ length: 100_000 }, () => exponential(chance, 3));
  isNear(mean(waits), 3, 0.02, "the mean between arrivals");
  const services = Array.from({ length: 200_000 }, () => logNormal(chance, 2, 0.8));
  isNear(mean(services), 2, 0.02, "the mean service");
  const variance = mean(services.map((service) => (service - 2) ** 2));
  isNear(Math.sqrt(variance) / 2, 0.8, 0.05, "the variation");
  assert.equal(logNormal(chance, 2, 0), 2);
});

/** Mean time in a station with arrivals by chance, one of them every `1 / rate`. */
function meanSojourn(servers: number, rate: number, service: (draw: () => number) => number) {
  const simulation = new Simulation();
  const places = new Places(simulation, servers);
  const chance = seeded(5);
  const times: number[] = [];
  let at = 0;
  for (let i = 0; i < 200_000; i++) {
    at += exponential(chance, 1 / rate);
    simulation.after(at, () => {
      const arrivedAt = simulation.now;
      places.serve(service(chance), () => times.push(simulation.now - arrivedAt));
    });
  }
  simulation.run();
  assert.equal(times.length, 200_000);
  return mean(times);
}

test("a queue with one server takes what Pollaczek and Khinchine say", () => {
  // M/M/1: 1 / (1 - 0.8); M/D/1: 1 + 0.8 / (2 (1 - 0.8)).
  isNear(
    meanSojourn(1, 0.8, (chance) => exponential(chance, 1)),
    5,
    0.1,
    "M/M/1",
  );
  isNear(
    meanSojourn(1, 0.8, () => 1),
    3,
    0.05,
    "M/D/1",
  );
});

test("a queue with two servers takes what Erlang says", () => {
  // M/M/2 at 80 %: the wait is C(2, 1.6) / (2 - 1.6) = 0.7111 / 0.4.
  isNear(
    meanSojourn(2, 1.6, (chance) => exponential(chance, 1)),
    1 + 1.778,
    0.08,
    "M/M/2",
  );
});

test("who waits longer than its patience gives up, and its place goes to the next", () => {
  const simulation = new Simulation();
  const places = new Places(simulation, 1, 10);
  const said: string[] = [];
  const visit = (name: string, staysMs: number) =>
    places.take(
      () => {
        said.push(`${name} in at ${simulation.now}`);
        simulation.after(staysMs, () => places.giveBack());
      },
      () => said.push(`${name} gone at ${simulation.now}`),
    );
  visit("a", 15);
  visit("b", 1);
  simulation.after(8, () => visit("c", 1));
  simulation.run();
  assert.deepEqual(said, ["a in at 0", "b gone at 10", "c in at 15"]);
});

test("twice the calls need twice the machines, and half of them on cores twice as fast", () => {
  const once = plan(demand, machines);
  const twice = plan({ ...demand, callsPerSecond: 2 * demand.callsPerSecond }, machines);
  isNear(Number(twice.replicas.processor), 2 * Number(once.replicas.processor), 1e-9);
  isNear(Number(twice.shards.disk), 2 * Number(once.shards.disk), 0.01);
  const faster = plan(demand, { ...machines, speed: 2 });
  isNear(Number(faster.shards.processor), Number(once.shards.processor) / 2, 1e-9);
});

test("a small demand does not fill a database: a shard takes the same of any demand", () => {
  const large = { ...machines, shardDiskTb: 1e6 };
  const take = (callsPerSecond: number) =>
    shardCapacity(plan({ ...demand, callsPerSecond }, large), callsPerSecond);
  isNear(take(10), take(10_000), 1e-6);
});

test("without people nobody polls; with them Little's law says how many do", () => {
  assert.equal(pollsHeld({ ...demand, humanShare: 0 }), 0);
  assert.equal(ratesOf({ ...demand, humanShare: 0, notifiedShare: 0 }).read, 0);
  const some = { ...demand, callsPerSecond: 100, humanShare: 0.5, notifiedShare: 0 };
  assert.equal(pollsHeld({ ...some, decisionSeconds: 60 }), 3_000);
  // 50 a second, three polls each with two reads, and one look of the reviewer.
  assert.equal(ratesOf({ ...some, decisionSeconds: 60 }).read, 50 * 7);
});

test("what is stored is the rate times how long it is kept", () => {
  const stored = storageOf({ ...demand, callsPerSecond: 10, humanShare: 0, notifiedShare: 0 });
  assert.equal(stored.requests, 10 * 604_800);
  isNear(stored.requestTb, (10 * 604_800 * ROW_BYTES.request) / 1e12, 1e-9);
  assert.equal(stored.notificationTb, 0);
});

test("the first change of a page after a checkpoint logs the page: each in a large index", () => {
  const whole = imageBytes(1e12, 1_000);
  isNear(whole, 8_192 * 0.4, 0.001, "a page for each insert");
  assert.ok(imageBytes(1e5, 1e6) < whole / 100);
  assert.equal(imageBytes(1e6, 0), 0);
});

test("the largest need decides, and its reason is named", () => {
  assert.deepEqual(largest({ disk: 2.1, processor: 1.2 }), { reason: "disk", count: 3 });
  assert.deepEqual(largest({ processor: 0.01 }), { reason: "processor", count: 1 });
});

const CELL: System = {
  replicas: 4,
  connections: 20,
  databaseCores: 8,
  works: [{ share: 1, serverMs: 1, databaseMs: 1, waitMs: 4 }],
  variation: 1,
  waitVariation: 0.3,
};

test("latency grows with utilisation and is what the work takes where nobody waits", () => {
  const [idle, busy, full] = [0.05, 0.6, 0.95].map((used) => latenciesAt(CELL, used, 20_000, 7));
  assert.ok(idle !== undefined && busy !== undefined && full !== undefined);
  isNear(idle.p50Ms, 5.8, 0.1, "p50 without a queue");
  assert.ok(idle.p99Ms < busy.p99Ms && busy.p99Ms < full.p99Ms);
  assert.deepEqual(latenciesAt(CELL, 0.6, 20_000, 7), busy);
});

test("a lost replica makes the others fuller, and polls that come again fuller for a while", () => {
  const loss = { utilisation: 0.6, polls: 1_000, seconds: 4 };
  const seconds = loseReplica(CELL, loss, 8);
  const quiet = loseReplica(CELL, { ...loss, polls: 0 }, 8);
  const at = (place: number) => seconds[place] ?? assert.fail("no such second");
  isNear(at(0).perSecond, 2_400 + 1_000, 0.05);
  isNear(at(3).perSecond, 2_400, 0.05);
  assert.ok(at(0).p99Ms > (quiet[0]?.p99Ms ?? 0));
});

test("a shard that comes back works off what waited, the longer the sooner all come", () => {
  const back = { utilisation: 0.5, outageSeconds: 10, seconds: 20 };
  const rush = returnShard(CELL, { ...back, retrySeconds: 2 }, 9);
  const spread = returnShard(CELL, { ...back, retrySeconds: 20 }, 9);
  assert.ok((rush[1]?.p99Ms ?? 0) > 10 * (spread[1]?.p99Ms ?? 0));
  const sent = (seconds: typeof rush) => seconds.reduce((sum, each) => sum + each.perSecond, 0);
  isNear(sent(rush), 2_000 * (20 + 10), 0.02);
});

test("a shard that hangs takes the connections of all who share a pool with it", () => {
  const stall = { utilisation: 0.5, stallMs: 2_000, seconds: 8 };
  const shared = stallShard(CELL, { ...stall, share: 0.1 }, 10);
  assert.ok(shared.refused > 0.1 || shared.p99Ms > 1_000, JSON.stringify(shared));
  const apart = stallShard(CELL, { ...stall, share: 0 }, 10);
  assert.equal(apart.refused, 0);
  assert.ok(apart.p99Ms < 100);
});

test("shares of projects fall as Zipf says, and are all", () => {
  const shares = zipfShares(1_000, 1);
  isNear(mean([...shares]) * 1_000, 1, 1e-9);
  isNear((shares[0] ?? 0) / (shares[9] ?? 1), 10, 1e-9);
  assert.equal(new Set(zipfShares(10, 0)).size, 1);
});

test("equal projects fill shards evenly, and one that is large fills its own", () => {
  const even = fullestByChance(zipfShares(100_000, 0), 10, seeded(11));
  assert.ok(even < 1.1, `${even}`);
  const { fullest, fullestWorst, fullestPlaced } = unevenness(
    { projects: 1_000, exponent: 1 },
    10,
    50,
    11,
  );
  assert.ok(fullest > 1.3 && fullestWorst >= fullest && fullestPlaced < fullest);
});

test("a project outgrows its shard when its share of all calls is what the shard takes", () => {
  const people = { projects: 1_000, exponent: 1 };
  const share = zipfShares(1_000, 1)[0] ?? 0;
  isNear(outgrownAt(people, 500) * share, 500, 1e-9);
  assert.equal(shardsFor(people, outgrownAt(people, 500) * 1.01, 500, 12), undefined);
  const count = shardsFor(people, 2_000, 500, 12) ?? 0;
  assert.ok(count >= 4 && count < 12, `${count}`);
});

test("a cell is one shard and its part of the replicas, never without a second one", () => {
  const planned = plan(demand, machines);
  const { count } = largest(planned.shards);
  const cell = cellOf(planned, machines, count, DEFAULTS.variations);
  assert.equal(cell.replicas, Math.ceil(largest(planned.replicas).count / count));
  isNear(
    cell.works.reduce((sum, { share }) => sum + share, 0),
    1,
    1e-9,
  );
  assert.equal(cellOf(planned, machines, 1e6, DEFAULTS.variations).replicas, 2);
  isNear(shardCapacity(planned, demand.callsPerSecond) * count, demand.callsPerSecond, 0.1);
});

test("options are numbers within their bounds, and the help names each", () => {
  assert.equal(readOptions(["--help"]), undefined);
  assert.equal(readOptions(["--instances", "5"])?.demand.instances, 5);
  assert.equal(population.exponent, 1);
  for (const wrong of [
    ["--calls-per-second", "0"],
    ["--human-share", "1.5"],
    ["--speed", "fast"],
    ["--nothing", "1"],
  ]) {
    assert.throws(() => readOptions(wrong), /calls-per-second|human-share|speed|nothing/);
  }
  assert.match(usage(), /--calls-per-second N .*\(100000\)/);
});

const GUIDE = readFileSync(join(import.meta.dirname, "../../docs/guides/scale.md"), "utf8");

test("the guide says what the table of measured costs says", () => {
  const { create, read, verdict, notifiedVerdict } = OPERATION_COSTS;
  for (const { serverUs, databaseUs } of [create, read, verdict, notifiedVerdict]) {
    assert.ok(GUIDE.includes(`| ${serverUs} µs | ${databaseUs} µs |`), `${serverUs} µs`);
  }
  const bytes = new Intl.NumberFormat("en");
  for (const size of [ROW_BYTES.request, ROW_BYTES.audit, ROW_BYTES.notification]) {
    assert.ok(GUIDE.includes(`| ${bytes.format(size)} B |`), `${size} B`);
  }
});

test("the guide shows what the calculation gives: run capacity.ts again after a change", () => {
  const table = needs(DEFAULTS, plan(demand, machines)).join("\n");
  assert.ok(GUIDE.includes(table), table);
});
