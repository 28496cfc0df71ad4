/**
 * The agent of docs/guides/connect-a-python-agent.md, run as a reader runs it.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const GUIDE = join(import.meta.dirname, "../../docs/guides/connect-a-python-agent.md");

const run = promisify(execFile);

/** The file `agent.py` of the guide. */
export function agentOfGuide(): string {
  const [, source] = /```python agent\.py\n([\s\S]*?)```/.exec(readFileSync(GUIDE, "utf8")) ?? [];
  if (source === undefined) throw new Error("the guide has no agent.py");
  return source;
}

/**
 * @param program the interpreter of the environment that the package is in
 * @returns what it printed
 */
export async function runAgent(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-guide-"));
  try {
    const file = join(folder, "agent.py");
    writeFileSync(file, agentOfGuide());
    const options = { env: { ...process.env, ...env } };
    const { stdout } = await run(program, [file, ...args], options);
    return stdout.trimEnd();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
