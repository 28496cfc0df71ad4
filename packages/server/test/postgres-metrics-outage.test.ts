/**
 * The answers of /metrics while PostgreSQL is stopped or hangs.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createDatabase, type PostgresServer, startPostgres } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import type { TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const GAUGES = /^countersign_(requests_pending|deliveries_waiting) \d/gm;

interface Scene {
  readonly postgres: PostgresServer;
  readonly server: TestProvider;
}

async function start(t: TestContext): Promise<Scene> {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const { servers } = await startReplicas(t, 1, await createDatabase(postgres));
  const [server] = servers as [TestProvider];
  await untilScraped(server, 1);
  return { postgres, server };
}

/** Scrapes until the store could be read (1) or not (0). Every scrape answers 200. */
async function untilScraped(server: TestProvider, success: 0 | 1): Promise<string> {
  let scraped = "";
  await until(async () => {
    const { status, text } = await server.call("GET", "/metrics");
    assert.equal(status, 200);
    scraped = text;
    return text.includes(`\ncountersign_store_scrape_success ${success}\n`);
  }, `a scrape with success ${success}`);
  assert.equal(scraped.match(GAUGES)?.length ?? 0, success * 2);
  return scraped;
}

/** @see proc(5), /proc/[pid]/stat: the parent is the second field after the command */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, parentPid] =
          readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
        return Number(parentPid) === parent;
      } catch {
        return false;
      }
    });
}

/** The postmaster and all of its processes. */
async function processesOf(url: string): Promise<number[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("select pg_read_file('postmaster.pid') as file");
    const postmaster = Number(String(rows[0].file).split("\n")[0]);
    return [postmaster, ...childrenOf(postmaster)];
  } finally {
    await client.end();
  }
}

test("[ours.operations.metrics-outage] a stopped PostgreSQL leaves its gauges out until it is back", async (t) => {
  const { postgres, server } = await start(t);
  await postgres.stop();
  const text = await untilScraped(server, 0);
  assert.match(text, /^countersign_failures_total\{dependency="store"\} [1-9]/m);
  await postgres.start();
  await untilScraped(server, 1);
});

test("[ours.operations.metrics-outage] a PostgreSQL that hangs holds no scrape until its own time-outs", async (t) => {
  const { postgres, server } = await start(t);
  const pids = await processesOf(postgres.url);
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // A process that has ended.
      }
    }
  };
  t.after(() => signal("SIGCONT"));
  signal("SIGSTOP");
  let isAnswered = false;
  // Waits for the database as long as any exchange does.
  const ready = server.call("GET", "/readyz").then(({ status }) => {
    isAnswered = true;
    return status;
  });
  const { text } = await server.call("GET", "/metrics");
  assert.equal(isAnswered, false);
  assert.match(text, /^countersign_store_scrape_success 0$/m);
  assert.doesNotMatch(text, GAUGES);
  signal("SIGCONT");
  assert.equal(await ready, 200);
  await untilScraped(server, 1);
});
