// Tier: slow
// Needs: go-tools
/**
 * A server starts with the variables, the Secret and the volume of a rendered pod, and answers its
 * probes.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { createDatabase } from "../../packages/server/test/support/postgres.ts";
import { ofKind } from "./objects.ts";
import { guideBlock, render } from "./render.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const owner = fileOwner();

interface Case {
  /** The name of a block in the guide. */
  readonly values: string;
  readonly files: () => Promise<Readonly<Record<string, string>>>;
}

/** The files of the Secret, as step 1 of the guide creates them. */
async function secrets(): Promise<Readonly<Record<string, string>>> {
  return {
    database_url: await createDatabase(),
    // `openssl rand` writes a line break.
    secret_key: `${randomBytes(32).toString("base64")}\n`,
  };
}

const CASES: Readonly<Record<string, Case>> = {
  PostgreSQL: { values: "values.yaml", files: secrets },
  SQLite: { values: "sqlite.yaml", files: async () => ({}) },
};

for (const [name, { values, files }] of Object.entries(CASES)) {
  test(`[ours.deploy.chart] the pod on ${name} starts, answers its probes and creates tokens`, async () => {
    const deployment = ofKind(render([guideBlock(values)]), "Deployment");
    const [container] = deployment.spec.template.spec.containers;
    // The folder is the root of the container's file system.
    const folder = temporaryFolder(owner);
    for (const [file, text] of Object.entries(await files())) {
      writeFileSync(join(folder, file), text, { mode: 0o600 });
    }
    const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
    const placed = container.env.map(({ name: variable, value }) => {
      const mount = mounts.find((path) => value.startsWith(`${path}/`));
      return [variable, mount === undefined ? value : value.replace(mount, folder)];
    });
    const env = {
      ...ownEnvironment(),
      // As in the image, except the address and the port.
      COUNTERSIGN_HOST: "127.0.0.1",
      COUNTERSIGN_PORT: "0",
      ...Object.fromEntries(placed),
    };
    const run = (...words: readonly string[]) => {
      const command = [process.execPath, "packages/cli/bin/countersign.js", ...words];
      return new Child(owner, command, { env, cwd: ROOT });
    };
    const started = /"event":"server\.started","address":"([^"]+)"/;
    const [, url = ""] = await run("serve", "--json").prints("stdout", started);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"] as const) {
      const { path } = container[probe].httpGet;
      assert.equal((await fetch(`${url}${path}`)).status, 200, path);
    }
    const created = await run("tokens", "create", "reviewer", "--name", "ana").ends();
    assert.equal(created.code, 0, created.stderr);
    const [token] = /cs_rev_\S+/.exec(created.stdout) ?? [];
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${url}/review/v1/requests`, { headers })).status, 200);
    const link = await run("people", "setup-link").ends();
    assert.match(link.stdout, /https:\/\/approvals\.example\.com\//, link.stderr);
    if (name === "PostgreSQL") return;
    const backup = await run("backup", join(folder, "backup.db")).ends();
    assert.equal(backup.code, 0, backup.stderr);
    assert.ok(existsSync(join(folder, "countersign/secret.key")));
  });
}
