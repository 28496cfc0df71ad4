/** Projects and directories for tests of plan, apply and export. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { type Outcome, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server } from "@countersign/testing/countersign";

/** A project with an admin who has a token. */
export interface Project {
  readonly name: string;
  readonly token: string;
  run(t: TestContext, ...args: string[]): Promise<Outcome>;
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

/** @param variables for the commands */
export async function newProject(
  server: Server,
  name: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Project> {
  const token = await makeToken(server.data, {
    kind: "reviewer",
    name: "ana",
    role: "admin",
    project: name,
  });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token, ...variables };
  return {
    name,
    token,
    run: (t, ...args) => countersign(t, args, { env }),
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      const answer = await exchange<T>(method, `${server.url}/review/v1/${path}`, token, body);
      assert.ok(answer.status < 300, answer.text);
      return answer.json;
    },
  };
}

export function directoryOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const directory = temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

export async function expectExit(outcome: Promise<Outcome>, code: number): Promise<Outcome> {
  const { code: actual, stdout, stderr } = await outcome;
  assert.equal(actual, code, stdout + stderr);
  return outcome;
}
