/**
 * Plays a guide: its files are written, its commands run one after another in a shell against a
 * real server, and what it says they print is looked for.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { Child } from "./child.ts";
import { Server } from "./countersign.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const COMMAND = join(ROOT, "packages/cli/bin/countersign.js");

/** Starts a server in the folder, with its data in `data`. */
export async function serveIn(t: TestContext, folder: string): Promise<Server> {
  const data = join(folder, "data");
  const serve = [process.execPath, COMMAND, "serve", "--port", "0", "--data", data];
  const server = new Child(t, serve, { env: {}, cwd: folder });
  const [, url = ""] = await server.prints("stderr", /serving (http:\/\/localhost:\d+)/);
  return new Server(url, data, server);
}

interface Block {
  readonly language: string;
  readonly file: string;
  readonly text: string;
}

/**
 * @param guide its path in the repository
 * @param env what the guide takes as given
 */
export async function playGuide(
  t: TestContext,
  guide: string,
  { folder, url }: { readonly folder: string; readonly url: string },
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const all = blocksOf(readFileSync(join(ROOT, guide), "utf8"));
  for (const { file, text } of all) if (file !== "") writeFileSync(join(folder, file), text);
  const scripts = all.filter(({ language }) => language === "sh").map(({ text }) => text);
  const marked = scripts.map((text, index) => `${text}\necho "-- end of ${index + 1}"`);
  const script = [
    "exec 2>&1; set -euo pipefail",
    `countersign() { "${process.execPath}" "${COMMAND}" "$@"; }`,
    ...marked,
  ].join("\n");
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const shell = ["bash", "-c", script.replace("http://localhost:8787", url)];
  const player = new Child(t, shell, { env: { ...env, PATH: path }, cwd: folder });
  // Each block has its own time to be done.
  for (const index of scripts.keys()) {
    await player.prints("stdout", new RegExp(`^-- end of ${index + 1}$`, "m"));
  }
  const played = await player.ends();
  assert.equal(played.code, 0, played.stdout);
  const parts = played.stdout.split(/^-- end of \d+$/m);
  for (const [number, lines] of promised(all)) assertPrinted(parts[number - 1] ?? "", lines);
}

function blocksOf(text: string): Block[] {
  const found = text.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms);
  return [...found].map(([, language = "", file = "", text = ""]) => ({ language, file, text }));
}

/** What the guide says is printed, by the number of the commands before it. */
function promised(all: readonly Block[]): Map<number, string[]> {
  const lines = new Map<number, string[]>();
  let commands = 0;
  for (const { language, text } of all) {
    if (language === "sh") commands++;
    if (language === "text") lines.set(commands, text.trimEnd().split("\n"));
  }
  return lines;
}

/** One line after another, with anything in between. */
function assertPrinted(part: string, lines: readonly string[]): void {
  let from = 0;
  for (const line of lines) {
    const at = part.indexOf(line.trim(), from);
    assert.notEqual(at, -1, `${line}\nis not in its place in:\n${part}`);
    from = at + line.trim().length;
  }
}
