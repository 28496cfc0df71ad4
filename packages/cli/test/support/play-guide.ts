/**
 * Follows pages of the documentation in a folder that is like a checkout: starts the server, writes
 * the files of the page, runs its commands in order in a shell, and compares the output with the
 * text blocks.
 */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { Server } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";

const ROOT = join(import.meta.dirname, "../../../..");

/** The address in all pages. */
const PAGE_URL = "http://localhost:8787";

/** The last command of a block that starts a server. It keeps running. */
const START = /(npm start|countersign init|countersign serve( .*)?)\n$/;

/** A page can install packages. */
const BLOCK_MS_MAX = 180_000;

export interface Block {
  /** Empty without a language. */
  readonly language: string;
  readonly file: string;
  readonly text: string;
}

/** A text in the commands of a page that this machine cannot run unchanged. */
export interface Change {
  readonly text: string;
  readonly by: string;
  readonly reason: string;
}

export interface Place {
  readonly server: Server;
  /** The folder of the page, like a checkout, with the data of the server. */
  readonly folder: string;
}

export interface GuideOptions {
  /** Makes what the page takes as given, or what its user does by hand. @returns variables */
  readonly prepare?: (place: Place) => Promise<NodeJS.ProcessEnv>;
  readonly changes?: readonly Change[];
  /** Verdicts of the reviewer about the requests that the commands wait for, in order. */
  readonly verdicts?: readonly ("approve" | "deny")[];
  /** Uses what the commands of the page have made. */
  readonly finish?: (place: Place) => Promise<void>;
}

/** @param page its file in docs */
export function blocksOf(page: string): Block[] {
  const found = readFileSync(join(ROOT, "docs", page), "utf8").matchAll(
    /^```(\w*)(?: (\S+))?\n(.*?)^```$/gms,
  );
  return [...found].map(([, language = "", file = "", text = ""]) => ({ language, file, text }));
}

/**
 * The output lines that the page states, for each of its commands in order.
 *
 * @throws AssertionError for a text block that is not the output of a command
 */
export function statedOutput(all: readonly Block[]): string[][] {
  const stated: string[][] = [];
  let current: string[] | undefined;
  for (const block of all) {
    const { language, text } = block;
    if (language === "sh") current = undefined;
    if (isCommand(block)) {
      current = [];
      stated.push(current);
    }
    if (language !== "text") continue;
    assert.ok(current !== undefined, `this text does not follow a command:\n${text}`);
    current.push(...text.trimEnd().split("\n"));
  }
  return stated;
}

function isCommand({ language, text }: Pick<Block, "language" | "text">): boolean {
  return language === "sh" && !START.test(text);
}

/** @param page its file in docs */
export async function playGuide(
  t: TestContext,
  page: string,
  { prepare, changes = [], verdicts = [], finish }: GuideOptions = {},
): Promise<void> {
  const folder = temporaryFolder(t);
  imitateCheckout(folder);
  const all = blocksOf(page);
  writeFiles(folder, all);
  const change = (text: string) => {
    return changes.reduce((now, { text: from, by }) => now.replaceAll(from, by), text);
  };
  for (const { text } of changes) {
    assert.ok(
      all.some((block) => block.text.includes(text)),
      `${page} does not contain: ${text}`,
    );
  }

  const { PATH = "", NODE_COMPILE_CACHE } = process.env;
  const path = [dirname(process.execPath), join(folder, "node_modules/.bin"), PATH].join(":");
  const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
  const common = { HOME: folder, PATH: path, npm_config_update_notifier: "false", ...cache };
  const start = all.filter(({ language, text }) => language === "sh" && START.test(text));
  assert.ok(start.length <= 1, `${page} starts several servers`);
  const script = change(start[0]?.text ?? "countersign serve\n");
  const serving = new Child(t, ["bash", "-c", `set -euo pipefail\n${script}`], {
    env: { ...common, COUNTERSIGN_PORT: "0" },
    cwd: folder,
    isGroup: true,
  });
  const started = /"event":"server\.started","address":"([^"]+)"/;
  const [, url = ""] = await serving.prints("stdout", started);
  const server = new Server(url, join(folder, "data"), serving);
  const place: Place = { server, folder };
  const variables = { ...common, ...(await prepare?.(place)) };

  const commands = all.filter(isCommand).map(({ text }) => change(text));
  const marked = commands.map((text, index) => `${text}\nprintf "\\n-- end of ${index + 1}\\n"`);
  const shell = ["exec 2>&1; set -euo pipefail", ...marked].join("\n").replaceAll(PAGE_URL, url);
  const player = new Child(t, ["bash", "-c", shell], { env: variables, cwd: folder });
  const ended = new AbortController();
  const [played] = await Promise.all([
    playToEnd(player, commands.length).finally(() => ended.abort()),
    decide(place.server, verdicts, ended.signal),
  ]);
  const parts = played.split(/^-- end of \d+$/m);
  for (const [index, lines] of statedOutput(all).entries()) {
    assertInOrder(parts[index] ?? "", lines);
  }
  await finish?.(place);
}

/** A folder in which npm and npx find what they find in a checkout after `npm ci`. */
function imitateCheckout(folder: string): void {
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const name of ["package.json", "examples"]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
}

function writeFiles(folder: string, all: readonly Block[]): void {
  for (const { language, file, text } of all) {
    if (file === "" || language === "text") continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

/** Waits until every block has run, each in its own time. @returns the output */
async function playToEnd(player: Child, blocks: number): Promise<string> {
  for (let number = 1; number <= blocks; number++) {
    await player.prints("stdout", new RegExp(`^-- end of ${number}$`, "m"), BLOCK_MS_MAX);
  }
  const { code, stdout } = await player.ends();
  assert.equal(code, 0, stdout);
  return stdout;
}

/** Decides the next pending requests as a reviewer does. */
export async function decide(
  server: Server,
  verdicts: readonly string[],
  ended: AbortSignal,
): Promise<void> {
  if (verdicts.length === 0) return;
  const reviewer = await makeToken(server.data, { kind: "reviewer", name: "reviewer-of-test" });
  const base = `${server.url}/review/v1/requests`;
  for (const verdict of verdicts) {
    const read = async () => {
      assert.ok(!ended.aborted, `the commands ended before the verdict "${verdict}"`);
      const call = await exchange<{ requests: Pending[] }>(
        "GET",
        `${base}?state=pending`,
        reviewer,
      );
      return call.json.requests[0];
    };
    const { id, arguments_sha256 } = await eventually("a pending request", read, BLOCK_MS_MAX);
    const body = { verdict, arguments_sha256 };
    const { status, text } = await exchange("POST", `${base}/${id}/verdict`, reviewer, body);
    assert.equal(status, 200, text);
  }
}

interface Pending {
  readonly id: string;
  readonly arguments_sha256: string;
}

function assertInOrder(output: string, lines: readonly string[]): void {
  let from = 0;
  for (const line of lines) {
    const at = output.indexOf(line.trim(), from);
    assert.notEqual(at, -1, `${line}\nis not in its place in:\n${output}`);
    from = at + line.trim().length;
  }
}
