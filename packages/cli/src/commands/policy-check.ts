/** The commands that check a policy file and run its tests. */

import { EXIT, type Terminal } from "@countersign/command-line";
import type { ProblemFinding } from "@countersign/protocol";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { examineFile, FLOOR, readPolicyFile, renderFindings, scopeOf } from "../policy-file.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

export const policyCheck: Command = {
  usage: "policy check FILE",
  help: "Check a policy and run its tests.",
  example: "policy check policy.yaml",
  settings: ["client"],
  options: {
    ...FLOOR,
    offline: { type: "flag", help: "Send no request to the server, even with a token." },
  },

  async run(line, terminal) {
    const [file = ""] = line.take("the file of the policy");
    const source = readPolicyFile(file);
    const { policy, findings: local } = examineFile(source, line.flag("floor"));
    const mayAsk = hasToken(line) && !line.flag("offline");
    // A policy that does not load here does not load on the server.
    const isChecked = mayAsk && policy !== undefined;
    const found = isChecked ? await askServer(line, source) : local;
    const warnings = policy?.warnings ?? [];
    const rules = policy?.rules.length ?? 0;
    const tests = policy?.tests.length ?? 0;
    if (line.json) {
      const valid = found.length === 0;
      const groups = isChecked ? "checked" : "not_checked";
      terminal.out(
        JSON.stringify({ file, valid, rules, tests, groups, findings: found, warnings }),
      );
    } else {
      printCheck(terminal, file, found, warnings);
      if (found.length === 0) {
        const groups = isChecked ? ", all groups known" : "";
        terminal.out(`${visibleText(file)}: ${count(rules, "rule")}, ${passed(tests)}${groups}`);
        if (!isChecked) terminal.note("The groups were not checked: set COUNTERSIGN_TOKEN.");
      }
    }
    return found.length === 0 ? EXIT.done : EXIT.refused;
  },
};

function hasToken(line: SettingsLine): boolean {
  const { token } = line.config();
  return token !== undefined && token !== "";
}

async function askServer(line: SettingsLine, source: string): Promise<readonly ProblemFinding[]> {
  const route = `POST /${scopeOf(line)}/check` as const;
  return (await connectApi(line).call(route, { body: { source } })).findings;
}

function printCheck(
  terminal: Terminal,
  file: string,
  found: readonly ProblemFinding[],
  warnings: readonly ProblemFinding[],
): void {
  if (found.length > 0) terminal.out(renderFindings(file, found));
  if (warnings.length > 0) terminal.out(renderFindings(file, warnings, "warning: "));
}

function passed(tests: number): string {
  return tests === 0 ? "no tests" : `${count(tests, "test")} passed`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export const policyTest: Command = {
  usage: "policy test FILE",
  help: "Run the tests of a policy without a server.",
  example: "policy test policy.yaml",
  settings: [],
  options: FLOOR,

  async run(line, terminal) {
    const [file = ""] = line.take("the file of the policy");
    const source = readPolicyFile(file);
    const { policy, findings, tests } = examineFile(source, line.flag("floor"));
    const failed = tests.filter((test) => !test.passed);
    const faults = policy === undefined ? findings : [];
    if (line.json) {
      terminal.out(JSON.stringify({ file, failed: failed.length, tests, findings: faults }));
    } else if (policy === undefined) {
      terminal.out(renderFindings(file, faults));
    } else {
      for (const { line: at, index, name, expected, got } of failed) {
        const title = name ?? `test ${index + 1}`;
        terminal.out(visibleText(`${file}:${at}:1: failed: ${title}`));
        terminal.out(visibleText(`  expected  ${expected}`));
        terminal.out(visibleText(`  got       ${got}`));
      }
      const ran = `${count(tests.length, "test")}: ${tests.length - failed.length} passed`;
      terminal.out(`${ran}, ${failed.length} failed`);
    }
    return findings.length === 0 ? EXIT.done : EXIT.refused;
  },
};
