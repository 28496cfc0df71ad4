import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type Agent, exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { databaseEnvironment, ENGINE } from "./support/engine.ts";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/** @see https://prometheus.io/docs/instrumenting/exposition_formats (text format, one line) */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (?:[-+.\w]+)$/;

const file = fileOwner();
let server: Server;
let agent: Agent;
/** The text of the first scrape. */
let atStart: string;

before(async () => {
  server = await startServer(file, { env: await databaseEnvironment() });
  atStart = await metrics();
  agent = await newAgent(server);
});

async function metrics(): Promise<string> {
  const answer = await exchange("GET", `${server.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  return answer.text;
}

function sampleOf(text: string, sample: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${sample} `));
  return line === undefined ? 0 : Number(line.slice(sample.length));
}

/** Every name of ours with its labels, without the values. */
function seriesOf(text: string): Set<string> {
  const lines = text.split("\n").filter((line) => line.startsWith("countersign_"));
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(" "))));
}

/** Calls of strangers and clients, with other ids, tokens, keys and paths at every call. */
async function visit(): Promise<void> {
  const { id } = await agent.submit({ tool: `tool-${randomUUID()}` });
  await agent.read(id);
  await agent.cancel(id);
  for (const path of [
    `/v1/requests/${randomUUID()}`,
    `/${randomUUID()}`,
    `/v1/${randomUUID()}?a=b`,
  ]) {
    await exchange("GET", server.url + path, agent.token);
    await exchange("POST", server.url + path, `cs_inst_${randomUUID()}`, {});
  }
}

test("[ours.operations.metrics] every line is Prometheus text, and every metric has its help and type", async () => {
  await visit();
  const lines = (await metrics())
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "");
  const described = new Set<string>();
  for (const line of lines) {
    const [, kind, name] = /^# (HELP|TYPE) (\S+) \S/.exec(line) ?? [];
    if (kind !== undefined) described.add(`${kind} ${name}`);
    else assert.match(line, SAMPLE);
  }
  for (const name of ["countersign_exchange_seconds", "countersign_requests_pending"]) {
    assert.ok(described.has(`HELP ${name}`) && described.has(`TYPE ${name}`), name);
  }
});

test("[ours.operations.metrics] no label holds an id, a token, a tool or a path, and series do not grow with them", async () => {
  await visit();
  const series = seriesOf(await metrics());
  for (let round = 0; round < 5; round++) await visit();
  const text = await metrics();
  assert.deepEqual(seriesOf(text), series);
  assert.doesNotMatch(text, UUID);
  assert.doesNotMatch(text, /cs_(inst|prov|rev)_|tool-|\/v1/);
  assert.match(text, /operation="unknown",status="404"/);
});

test("[ours.operations.metrics] exchanges are counted by operation and status", async () => {
  const created =
    'countersign_exchange_seconds_count{operation="createApprovalRequest",status="201"}';
  const before = sampleOf(await metrics(), created);
  await agent.submit();
  await agent.submit();
  assert.equal(sampleOf(await metrics(), created), before + 2);
});

test("[ours.operations.metrics] pending requests and long polls are what they are at the moment", async () => {
  const pending = sampleOf(await metrics(), "countersign_requests_pending");
  const { id } = await agent.submit();
  assert.equal(sampleOf(await metrics(), "countersign_requests_pending"), pending + 1);
  const poll = agent.read(id, "?wait=30s");
  await eventually("the long poll", async () => {
    return sampleOf(await metrics(), "countersign_polls_held") === 1 ? true : undefined;
  });
  await agent.cancel(id);
  await poll;
  const text = await metrics();
  assert.equal(sampleOf(text, "countersign_requests_pending"), pending);
  assert.equal(sampleOf(text, "countersign_polls_held"), 0);
});

test("[ours.operations.metrics] they report the process as well", async () => {
  const text = await metrics();
  assert.ok(sampleOf(text, "process_resident_memory_bytes") > 0);
  assert.ok(sampleOf(text, "process_cpu_seconds_total") > 0);
});

test("[ours.operations.metrics] reviewers' exchanges are counted too", async (t) => {
  const env = { COUNTERSIGN_TOKEN: await makeToken(server.data, { kind: "reviewer" }, server.env) };
  const { id } = await agent.submit();
  const deny = ["requests", "deny", id, "--url", server.url];
  assert.equal((await countersign(t, deny, { env })).code, 0);
  const sample = 'countersign_exchange_seconds_count{operation="castVerdict",status="200"}';
  assert.equal(sampleOf(await metrics(), sample), 1);
});

test("[ours.operations.metrics] every decision is counted once, by its status and its decider", async () => {
  const counted = 'countersign_requests_resolved_total{status="cancelled",by="instance"}';
  const before = sampleOf(await metrics(), counted);
  const { id } = await agent.submit();
  await agent.cancel(id);
  await agent.cancel(id);
  assert.equal(sampleOf(await metrics(), counted), before + 1);
});

const ALERTS = join(import.meta.dirname, "../../../deploy/prometheus/alerts.yaml");

/** Metrics that only servers on the other engine have. */
const OF_OTHERS = {
  sqlite: /^countersign_(wake|database)_/,
  postgres: /^countersign_last_backup_/,
};

/** Every name in a rule with its labels; of a choice of values, each one. */
function selectedSeries(rules: string): { name: string; labels: string[] }[] {
  const selectors = rules.matchAll(/\b((?:countersign|nodejs|process)_\w+)\{([^}]*)\}/g);
  return [...selectors].flatMap(([, name = "", matchers = ""]) => {
    const choices = [...matchers.matchAll(/(\w+)(=~|=)"([^"]*)"/g)].filter(
      ([, label]) => label !== "job",
    );
    return choices.reduce<{ name: string; labels: string[] }[]>(
      (series, [, label, , values = ""]) =>
        series.flatMap(({ labels }) =>
          values.split("|").map((value) => ({
            name,
            labels: [...labels, `${label}="${value}"`],
          })),
        ),
      [{ name, labels: [] }],
    );
  });
}

test("[ours.deploy.alerts] every series that an alerting rule selects exists at the first scrape", () => {
  const lines = atStart.split("\n");
  const selected = selectedSeries(readFileSync(ALERTS, "utf8"));
  assert.ok(selected.length > 30, `${selected.length} selectors`);
  const missing = selected.filter(({ name, labels }) => {
    if (OF_OTHERS[ENGINE].test(name)) return false;
    return !lines.some(
      (line) =>
        (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) &&
        labels.every((label) => line.includes(label)),
    );
  });
  assert.deepEqual(missing, []);
});

test("[ours.operations.metrics] a long poll is measured apart from reads", async () => {
  const { id } = await agent.submit();
  const poll = agent.read(id, "?wait=30s");
  await eventually("the long poll", async () => {
    return sampleOf(await metrics(), "countersign_polls_held") === 1 ? true : undefined;
  });
  const read = 'countersign_exchange_seconds_count{operation="getApprovalRequest",status="200"}';
  const held = 'countersign_exchange_seconds_count{operation="pollApprovalRequest",status="200"}';
  const before = await metrics();
  await agent.cancel(id);
  await poll;
  const after = await metrics();
  assert.equal(sampleOf(after, held), sampleOf(before, held) + 1);
  assert.equal(sampleOf(after, read), sampleOf(before, read));
  assert.match(after, /^countersign_exchange_seconds_bucket\{le="31",/m);
});

test("[ours.operations.metrics] requests created and running versions are metrics, and probes are not counted as exchanges", async () => {
  const before = await metrics();
  await agent.submit();
  await exchange("GET", `${server.url}/healthz`);
  const after = await metrics();
  const created = "countersign_requests_created_total";
  assert.equal(sampleOf(after, created), sampleOf(before, created) + 1);
  const answered = 'countersign_exchanges_total{class="2xx"}';
  assert.equal(sampleOf(after, answered), sampleOf(before, answered) + 1);
  assert.match(after, /^countersign_build_info\{version="\d+\.\d+\.\d+",node="v24\.[\d.]+"\} 1$/m);
});
