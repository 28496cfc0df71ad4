/**
 * The files in deploy/ match the server: their settings, ports, paths, bounds and times are equal.
 * tools/kubernetes/ tests the chart.
 * deploy/README.md says how the files were tried with the programs that they are for, and with what
 * result.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { OPERATIONS, parseDuration, WAIT_MS_MAX } from "@countersign/protocol";
import { Report, readConfig, toSettings } from "@countersign/server";
import { parseAllDocuments } from "yaml";
import { ALL_OPTIONS, environmentName } from "../../packages/server/src/config/options.ts";

const ROOT = join(import.meta.dirname, "../..");
const DEPLOY = join(ROOT, "deploy");

const FILES = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(DEPLOY.length + 1))
  // Made by make-secrets.sh, and not in the repository.
  .filter((name) => !/^compose\/(secrets\/.*|\.env)$/.test(name))
  .sort();

const read = (name: string): string => readFileSync(join(DEPLOY, name), "utf8");

const server = (name: string): string =>
  readFileSync(join(ROOT, "packages/server/src", name), "utf8");

const guide = (name: string): string => readFileSync(join(ROOT, `docs/guides/${name}.md`), "utf8");

/** The only match of a pattern with one group. */
function find(text: string, pattern: RegExp, what: string): string {
  const matches = [...text.matchAll(new RegExp(pattern, `${pattern.flags}g`))];
  const values = new Set(matches.map(([, value = ""]) => value));
  assert.equal(values.size, 1, `${what}: ${[...values].join(", ") || "not there"}`);
  return [...values][0] as string;
}

function seconds(text: string): number {
  return (parseDuration(text) ?? Number.NaN) / 1000;
}

type Yaml = Readonly<Record<string, unknown>>;

function parse(name: string): Yaml[] {
  return parseAllDocuments(read(name), { merge: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings], [], name);
    return document.toJS() as Yaml;
  });
}

/** The value at a path of names and indexes. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Yaml)?.[key], value);
}

const COMPOSE = parse("compose/compose.yaml")[0] ?? {};

/** Environments that the server is started in, by the file that says so. */
const ENVIRONMENTS: Readonly<Record<string, Record<string, string>>> = {
  "compose/compose.yaml": at(COMPOSE, "services", "countersign-1", "environment") as Record<
    string,
    string
  >,
  "systemd/countersign.env": assignments(read("systemd/countersign.env")),
};

function assignments(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^(\w+)=(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
}

/** As compose fills in unset variables. */
function substituted(environment: Record<string, string>): Record<string, string> {
  const entries = Object.entries(environment).map(([name, value]) => [
    name,
    String(value).replace(/\$\{\w+:-([^}]*)\}/g, "$1"),
  ]);
  return Object.fromEntries(entries);
}

const SETTINGS = toSettings(readConfig({}, {}));

const isTemplate = (name: string): boolean => name.startsWith("helm/templates/");

for (const name of FILES.filter((file) => file.endsWith(".yaml") && !isTemplate(file))) {
  test(`[ours.deploy.agrees] ${name} is YAML without doubts`, () => {
    for (const document of parse(name)) assert.equal(typeof document, "object");
  });
}

test("[ours.deploy.agrees] every setting that deploy/ and its guide name exists", () => {
  const known = new Set(ALL_OPTIONS.map(({ name }) => environmentName(name)));
  // Variables of compose itself; see compose/.env.example.
  known.add("COUNTERSIGN_IMAGE");
  const named = [...FILES.map((name) => join(DEPLOY, name)), join(ROOT, "docs/guides/scale.md")];
  for (const file of named) {
    const names = readFileSync(file, "utf8").match(/COUNTERSIGN_[A-Z0-9_]+/g) ?? [];
    assert.deepEqual(
      names.filter((name) => !known.has(name) && !name.startsWith("COUNTERSIGN_TEST_")),
      [],
      file,
    );
  }
});

for (const [file, environment] of Object.entries(ENVIRONMENTS)) {
  test(`[ours.deploy.agrees] the server takes the settings of ${file}`, () => {
    const host = find(read("container/Dockerfile"), /COUNTERSIGN_HOST=(\S+)/, "host");
    const image = file.startsWith("systemd") ? {} : { COUNTERSIGN_HOST: host };
    // A file of secrets that is not here.
    const { COUNTERSIGN_CONFIG: _, ...extra } = environment;
    const settings = toSettings(readConfig({}, { ...image, ...substituted(extra) }));
    assert.equal(settings.trustedProxies.length, 1, "the proxy of this recipe");
  });
}

test("[ours.deploy.agrees] the replicas of compose trust the network that Caddy is in", () => {
  const subnet = at(COMPOSE, "networks", "front", "ipam", "config", 0, "subnet");
  const trusted = ENVIRONMENTS["compose/compose.yaml"]?.COUNTERSIGN_TRUSTED_PROXIES;
  assert.equal(trusted, subnet);
  const { networks } = at(COMPOSE, "services", "caddy") as Yaml;
  assert.deepEqual(networks, ["front"]);
});

test("[ours.deploy.agrees] secrets are files with settings that exist, and never variables", () => {
  const script = /<<YAML\n(.*?)\nYAML/s.exec(read("compose/make-secrets.sh"))?.[1] ?? "";
  for (const text of [script, read("systemd/secrets.example.yaml")]) {
    const names = Object.keys(parseAllDocuments(text)[0]?.toJS() as Yaml);
    assert.deepEqual(names, ["database_url", "secret_key"]);
  }
  for (const [file, environment] of Object.entries(ENVIRONMENTS)) {
    for (const name of ["COUNTERSIGN_DATABASE_URL", "COUNTERSIGN_SECRET_KEY"]) {
      assert.equal(environment[name], undefined, file);
    }
  }
});

test("[ours.deploy.agrees] all recipes use the port that the server listens on", () => {
  const port = String(SETTINGS.port);
  const dockerfile = read("container/Dockerfile");
  assert.equal(find(dockerfile, /^EXPOSE (\d+)/m, "EXPOSE"), port);
  assert.equal(find(dockerfile, /COUNTERSIGN_PORT=(\d+)/, "COUNTERSIGN_PORT"), port);
  assert.equal(find(read("compose/compose.yaml"), /127\.0\.0\.1:(\d+)\/readyz/, "probe"), port);
  assert.equal(find(read("compose/compose.yaml"), /countersign-\d:(\d+)/, "upstream"), port);
  const template = read("helm/templates/deployment.yaml");
  assert.equal(find(template, /containerPort: (\d+)/, "containerPort"), port);
  assert.equal(ENVIRONMENTS["systemd/countersign.env"]?.COUNTERSIGN_PORT, port);
  assert.match(read("nginx/nginx.conf"), new RegExp(`server 127.0.0.1:${port} `));
  assert.match(read("caddy/Caddyfile"), new RegExp(`127.0.0.1:${port} `));
});

test("[ours.deploy.agrees] probes ask for routes that exist: liveness never for the database", () => {
  const routes = server("http/operational-routes.ts");
  const template = read("helm/templates/deployment.yaml");
  const probes = {
    startupProbe: "/healthz",
    livenessProbe: "/healthz",
    readinessProbe: "/readyz",
  };
  for (const [probe, path] of Object.entries(probes)) {
    const pattern = new RegExp(`${probe}:\\s+httpGet:\\s+path: (\\S+)\\s+port: http\\s`);
    assert.equal(find(template, pattern, probe), path);
    assert.ok(routes.includes(`app.get("${path}"`), path);
  }
  for (const [file, path] of [
    ["container/Dockerfile", "/healthz"],
    ["compose/compose.yaml", "/readyz"],
    ["caddy/Caddyfile", "/readyz"],
  ] as const) {
    assert.ok(read(file).includes(path), `${file}: ${path}`);
  }
});

test("[ours.deploy.agrees] a proxy waits longer than the server is silent, and the server than a poll", () => {
  const silence = server("http/create-http-server.ts");
  const silentS = Number(find(silence, /SILENCE_MS_MAX = (\d+)_000/, "SILENCE_MS_MAX"));
  const keptS = Number(find(silence, /KEEP_ALIVE_MS = (\d+)_000/, "KEEP_ALIVE_MS"));
  assert.ok(silentS > WAIT_MS_MAX / 1000);
  const nginx = read("nginx/nginx.conf");
  const caddy = read("caddy/Caddyfile");
  const longBlock = /location @long \{(.*?)\n {4}\}/s.exec(nginx)?.[1] ?? "";
  const heldByCaddy = /reverse_proxy @held .*?\{(.*?)\n\t\}/s.exec(caddy)?.[1] ?? "";
  const waits = {
    nginx: seconds(find(longBlock, /proxy_read_timeout (\w+);/, "proxy_read_timeout")),
    caddy: seconds(find(heldByCaddy, /response_header_timeout (\w+)/, "response_header_timeout")),
  };
  for (const [name, waitS] of Object.entries(waits)) assert.ok(waitS > silentS, name);
  const upstream = /upstream countersign \{(.*?)\n {2}\}/s.exec(nginx)?.[1] ?? "";
  assert.ok(seconds(find(upstream, /keepalive_timeout (\w+);/, "keepalive_timeout")) < keptS);
  assert.ok(seconds(find(caddy, /keepalive (\w+)\n/, "keepalive")) < keptS);
});

test("[ours.deploy.agrees] a proxy lets the largest body through, and one that the server refuses", () => {
  const inK = [
    find(read("nginx/nginx.conf"), /client_max_body_size (\d+)k;/, "client_max_body_size"),
    find(read("nginx/nginx.conf"), /client_body_buffer_size (\d+)k;/, "client_body_buffer_size"),
    find(guide("kubernetes"), /-body-size: (\d+)k/, "proxy-body-size"),
  ];
  for (const k of inK) assert.ok(Number(k) * 1024 > SETTINGS.bodyBytesMax);
  const caddyKb = Number(find(read("caddy/Caddyfile"), /max_size (\d+)KB/, "max_size"));
  assert.ok(caddyKb * 1000 > SETTINGS.bodyBytesMax);
});

test("[ours.deploy.agrees] every recipe waits for a server's stop longer than its open exchanges may take", () => {
  for (const [file, environment] of Object.entries(ENVIRONMENTS)) {
    const graceS = seconds(environment.COUNTERSIGN_SHUTDOWN_GRACE ?? "");
    assert.ok(graceS > 0, file);
    const waits: Readonly<Record<string, number>> = {
      compose: seconds(String(at(COMPOSE, "services", "countersign-1", "stop_grace_period"))),
      systemd: Number(find(read("systemd/countersign.service"), /TimeoutStopSec=(\d+)/, "stop")),
    };
    const waitS = waits[file.split("/")[0] ?? ""] ?? 0;
    assert.ok(waitS >= graceS + 10, `${file}: ${waitS} s for a grace of ${graceS} s`);
  }
});

test("[ours.deploy.agrees] the connections of all replicas fit into the database of compose", () => {
  const services = Object.entries(at(COMPOSE, "services") as Yaml);
  const replicas = services.filter(([name]) => name.startsWith("countersign-"));
  const each = Number(at(replicas[0]?.[1], "environment", "COUNTERSIGN_DATABASE_CONNECTIONS_MAX"));
  const max = Number(find(read("compose/compose.yaml"), /max_connections=(\d+)/, "max"));
  // One to listen on for each, three that PostgreSQL keeps for its owner, and some for people.
  assert.ok(replicas.length * (each + 1) + 3 + 10 <= max);
});

test("[ours.deploy.agrees] alerts and the guide name metrics that exist", async () => {
  const report = new Report("silent");
  report.observe({
    longPolls: () => 0,
    countStore: async () => ({
      requestsPending: 0,
      deliveriesWaiting: 0,
      auditStreamLagMs: { http: 0 },
    }),
    countPool: () => ({ used: 0, idle: 0, waiting: 0 }),
    lastBackup: () => undefined,
  });
  report.observeWake({ isListening: true, sent: 0, received: 0 });
  const { text: metrics } = await report.metrics();
  const known = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));
  for (const text of [read("prometheus/alerts.yaml"), guide("scale")]) {
    const named = text.match(/\b(countersign|nodejs|process)_[a-z0-9_]+(?=[`{[])/g) ?? [];
    const plain = named.map((name) => name.replace(/_(count|sum|bucket)$/, ""));
    assert.ok(plain.length > 5);
    assert.deepEqual(
      plain.filter((name) => !known.has(name)),
      [],
    );
  }
  const operations = Object.keys(OPERATIONS);
  const alerted = [...read("prometheus/alerts.yaml").matchAll(/operation="(\w+)"/g)];
  for (const [, operation = ""] of alerted) assert.ok(operations.includes(operation), operation);
});

test("[ours.deploy.agrees] a pooler prepares as many statements, and lets pass what a server asks for", () => {
  const connections = server("storage/postgres/connections.ts");
  const pooler = read("pgbouncer/pgbouncer.ini");
  const prepared = find(pooler, /^max_prepared_statements = (\d+)/m, "max_prepared_statements");
  assert.ok(Number(prepared) >= Number(find(connections, /PREPARED_MAX = (\d+)/, "PREPARED_MAX")));
  const ignored = find(pooler, /^ignore_startup_parameters = (.+)$/m, "ignored").split(",");
  const bounds = {
    statement_timeout: "STATEMENT_MS_MAX",
    lock_timeout: "LOCK_MS_MAX",
    idle_in_transaction_session_timeout: "IDLE_IN_TRANSACTION_MS_MAX",
  };
  assert.deepEqual(ignored.sort(), Object.keys(bounds).sort());
  for (const [name, constant] of Object.entries(bounds)) {
    const ms = find(connections, new RegExp(`${constant} = (\\d+)_000`), constant);
    assert.equal(find(pooler, new RegExp(`set ${name} = '(\\d+)s'`), name), ms);
  }
});
