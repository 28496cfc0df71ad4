/**
 * The commands of the hooks, the gateway and the conformance kit run as commands of `countersign`
 * too, with its name in their messages.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign } from "@countersign/testing/countersign";

interface Forwarded {
  readonly code: number;
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
}

const COMMANDS: Readonly<Record<string, Forwarded>> = {
  "hook claude-code": { code: 0, stdout: /"permissionDecision":"deny".*sent no input/ },
  "hook codex": { code: 2, stderr: /^Countersign: .*The agent sent no input/ },
  "hook other": { code: 2, stderr: /Usage: countersign hook claude-code\|cline\|codex\|/ },
  "hook claude-code --profile /nowhere": { code: 0, stdout: /"permissionDecision":"deny"/ },
  status: { code: 0, stdout: /^AGENT +HOOK/ },
  doctor: {
    code: 2,
    stderr: /^countersign: no hook is installed; run: (npx )?countersign install claude-code /m,
  },
  "install other": {
    code: 2,
    stderr: /^countersign: the agent must be one of claude-code, cline, codex, /m,
  },
  "conformance --list": { code: 0, stdout: /^cancel\.pending$/m },
  "conformance nowhere": { code: 2, stderr: /^countersign: BASE_URL must be/ },
  "mcp-gateway --config /nowhere": { code: 2, stderr: /^countersign: \/nowhere cannot be read/ },
};

for (const [command, { code, stdout = /^$/, stderr = /^$/ }] of Object.entries(COMMANDS)) {
  test(`[ours.cli.exit-codes] countersign ${command} exits with ${code}`, async (t) => {
    const home = temporaryFolder(t);
    const env = { HOME: home, XDG_CONFIG_HOME: home, CLAUDE_CONFIG_DIR: home, CODEX_HOME: home };
    const outcome = await countersign(t, command.split(" "), { env });
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stdout, stdout);
    assert.match(outcome.stderr, stderr);
  });
}
