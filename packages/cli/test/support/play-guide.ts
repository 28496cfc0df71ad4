/**
 * Follows pages of the documentation: writes their files, runs their commands in order in a shell
 * against a real server, and compares the output with the text blocks.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { Server } from "@countersign/testing/countersign";

const ROOT = join(import.meta.dirname, "../../../..");
const COMMAND = join(ROOT, "packages/cli/bin/countersign.js");

interface Block {
  readonly language: string;
  readonly file: string;
  readonly text: string;
}

function blocks(page: string): Block[] {
  const found = readFileSync(join(ROOT, "docs", page), "utf8").matchAll(
    /^```(\w+)(?: (\S+))?\n(.*?)^```$/gms,
  );
  return [...found].map(([, language = "", file = "", text = ""]) => ({ language, file, text }));
}

/** The output lines that the page promises, by the number of commands before them. */
function promised(all: readonly Block[]): Map<number, string[]> {
  const lines = new Map<number, string[]>();
  let commands = 0;
  for (const { language, text } of all) {
    if (language === "sh") commands++;
    if (language === "text") lines.set(commands, text.trimEnd().split("\n"));
  }
  return lines;
}

/**
 * @param page its file in docs
 * @param prepare makes what the page takes as given, and answers variables of the shell
 */
export async function playGuide(
  t: TestContext,
  page: string,
  prepare: (server: Server, folder: string) => Promise<NodeJS.ProcessEnv> = async () => ({}),
): Promise<void> {
  const folder = temporaryFolder(t);
  const data = join(folder, "data");
  const serve = [process.execPath, COMMAND, "serve", "--port", "0", "--data", data];
  const server = new Child(t, serve, { env: {}, cwd: folder });
  const [, url = ""] = await server.prints("stderr", / is serving (http:\/\/localhost:\d+) /);
  const environment = await prepare(new Server(url, data, server), folder);

  const all = blocks(page);
  for (const { file, text } of all) if (file !== "") writeFileSync(join(folder, file), text);
  const scripts = all.filter(({ language }) => language === "sh").map(({ text }) => text);
  const marked = scripts.map((text, index) => `${text}\nprintf "\\n-- end of ${index + 1}\\n"`);
  const script = [
    "exec 2>&1; set -euo pipefail",
    `countersign() { "${process.execPath}" "${COMMAND}" "$@"; }`,
    ...marked,
  ].join("\n");
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const shell = ["bash", "-c", script.replaceAll("http://localhost:8787", url)];
  const player = new Child(t, shell, { env: { ...environment, PATH: path }, cwd: folder });
  // Each block has its own time to be done.
  for (const index of scripts.keys()) {
    await player.prints("stdout", new RegExp(`^-- end of ${index + 1}$`, "m"));
  }
  const played = await player.ends();
  assert.equal(played.code, 0, played.stdout);
  const parts = played.stdout.split(/^-- end of \d+$/m);
  for (const [number, lines] of promised(all)) {
    const part = parts[number - 1] ?? "";
    let from = 0;
    for (const line of lines) {
      const at = part.indexOf(line.trim(), from);
      assert.notEqual(at, -1, `${line}\nis not in its place in:\n${part}`);
      from = at + line.trim().length;
    }
  }
}
