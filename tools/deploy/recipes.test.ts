// Tier: slow
// Needs: git
/**
 * Each recipe of deploy/ installs a server from a fresh clone, and that server answers agents and
 * shows people their pages.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { parse } from "yaml";
import { createDatabase } from "../../packages/server/test/support/postgres.ts";
import { buildImage, type Installed, installService, isInContext, ROOT } from "./recipes.ts";

const owner = fileOwner();
const folder = temporaryFolder(owner, "countersign-recipes-");

let image: Installed;
let service: Installed;

before(async () => {
  [image, service] = await Promise.all([
    buildImage(join(folder, "image")),
    installService(join(folder, "service")),
  ]);
});

/** The test replaces the address and the port of every recipe. */
const HERE = { COUNTERSIGN_HOST: "127.0.0.1", COUNTERSIGN_PORT: "0" };

function run(recipe: Installed, [program, ...args]: readonly string[], env = {}): Child {
  assert.match(program ?? "", /(^|\/)node$/);
  const all = { ...ownEnvironment(), ...recipe.env, ...env };
  return new Child(owner, [process.execPath, ...args], { env: all, cwd: recipe.app });
}

async function serve(recipe: Installed, extra = {}): Promise<{ url: string; env: object }> {
  const env = { ...extra, ...HERE };
  const server = run(recipe, recipe.command, env);
  const [, url = ""] = await server.prints(
    "stdout",
    /"event":"server\.started","address":"([^"]+)"/,
  );
  return { url, env };
}

/** Answers of a server to a client without a token. */
const ANSWERS: Readonly<Record<string, number>> = {
  "/inbox": 200,
  "/inbox/01": 200,
  "/history": 200,
  "/sign-in": 200,
  "/sw.js": 200,
  "/manifest.webmanifest": 200,
  "/openapi.yaml": 200,
  "/healthz": 200,
  "/readyz": 200,
  "/metrics": 200,
  "/v1/requests/01": 401,
  "/review/v1/requests": 401,
};

async function assertServes(url: string): Promise<void> {
  for (const [path, status] of Object.entries(ANSWERS)) {
    assert.equal((await fetch(`${url}${path}`)).status, status, path);
  }
  const page = await (await fetch(`${url}/inbox`)).text();
  const assets = [...page.matchAll(/(?:src|href)="(\.\/assets\/[^"]+)"/g)];
  assert.ok(assets.length >= 2, page);
  for (const [, path = ""] of assets) {
    const response = await fetch(new URL(path, `${url}/inbox`));
    assert.equal(response.status, 200, path);
    assert.notEqual(await response.text(), "", path);
  }
}

function yaml<T>(path: string): T {
  return parse(readFileSync(join(ROOT, "deploy", path), "utf8"), { merge: true }) as T;
}

/** The file that a platform mounts at the place that COUNTERSIGN_CONFIG names. */
async function secretFile(): Promise<string> {
  const place = temporaryFolder(owner);
  const secrets = {
    database_url: await createDatabase(),
    secret_key: randomBytes(32).toString("base64"),
  };
  const file = join(place, "countersign.yaml");
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return file;
}

test("[ours.deploy.installs] .dockerignore: the last matching line decides for a file", () => {
  const lines = "# comment\n*\n!packages\n**/test\n";
  assert.equal(isInContext("packages/cli/src/main.ts", lines), true);
  assert.equal(isInContext("packages/cli/test/a.ts", lines), false);
  assert.equal(isInContext("tools/deploy/recipes.ts", lines), false);
});

test("[ours.deploy.installs] the image has the console and no framework that only the SDK supports", () => {
  assert.ok(existsSync(join(image.app, "packages/console/dist/index.html")));
  const manifests = readdirSync(join(image.app, "packages")).map(
    (name) =>
      JSON.parse(readFileSync(join(image.app, "packages", name, "package.json"), "utf8")) as {
        dependencies?: Record<string, string>;
        devDependencies?: Record<string, string>;
        peerDependencies?: Record<string, string>;
      },
  );
  const needed = new Set(manifests.flatMap((each) => Object.keys(each.dependencies ?? {})));
  const unneeded = manifests
    .flatMap(({ devDependencies, peerDependencies }) =>
      Object.keys({ ...devDependencies, ...peerDependencies }),
    )
    .filter((name) => !needed.has(name));
  assert.ok(unneeded.includes("vite") && unneeded.includes("@mastra/core"));
  const installed = unneeded.filter((name) => existsSync(join(image.app, "node_modules", name)));
  assert.deepEqual(installed, []);
});

test("[ours.deploy.installs] the image serves pages and API with the settings of compose", async () => {
  const compose = yaml<{ services: Record<string, { environment: object; healthcheck: object }> }>(
    "compose/compose.yaml",
  );
  const { environment, healthcheck } = compose.services["countersign-1"] ?? {};
  const extra = {
    ...environment,
    COUNTERSIGN_PUBLIC_URL: "https://localhost",
    COUNTERSIGN_CONFIG: await secretFile(),
    COUNTERSIGN_DATA: temporaryFolder(owner),
  };
  const { url, env } = await serve(image, extra);
  await assertServes(url);
  const words = "packages/cli/bin/countersign.js tokens create reviewer --name ana".split(" ");
  const created = await run(image, ["node", ...words], env).ends();
  assert.equal(created.code, 0, created.stderr);
  const [token] = /cs_rev_\S+/.exec(created.stdout) ?? [];
  const headers = { authorization: `Bearer ${token}` };
  const listed = await fetch(`${url}/review/v1/requests`, { headers });
  assert.equal(listed.status, 200, created.stdout);
  const { port } = new URL(url);
  const own = await run(image, image.healthCheck, { COUNTERSIGN_PORT: port }).ends();
  assert.equal(own.code, 0, own.stderr);
  const [shell, ...probe] = (healthcheck as { test: string[] }).test;
  assert.equal(shell, "CMD");
  const readiness = probe.map((word) => word.replace(":8787", `:${port}`));
  const ready = await run(image, readiness).ends();
  assert.equal(ready.code, 0, ready.stderr);
});

test("[ours.deploy.installs] the systemd unit serves pages and API on SQLite", async () => {
  // As the unit says: with SQLite the file may be empty.
  writeFileSync(join(folder, "service/etc/countersign/secrets.yaml"), "");
  mkdirSync(join(folder, "service/state"));
  const { url } = await serve(service);
  await assertServes(url);
});
