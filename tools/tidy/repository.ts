/**
 * The files that are, or are about to be, in the repository: what git tracks and what it would
 * not ignore. Deleted and binary files are left out.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** @returns texts by path from the root, with forward slashes */
export function readRepository(root: string): Map<string, string> {
  const command = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", command, { cwd: root, encoding: "utf8" });
  const texts = new Map<string, string>();
  for (const path of listed.split("\0")) {
    const file = join(root, path);
    if (path === "" || !existsSync(file) || !statSync(file).isFile()) continue;
    const text = readFileSync(file, "utf8");
    if (!text.includes("\0")) texts.set(path, text);
  }
  return texts;
}

/** Those files of a repository that are TypeScript. */
export function typeScriptIn(texts: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...texts].filter(([path]) => /\.tsx?$/.test(path)));
}
