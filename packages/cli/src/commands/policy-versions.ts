import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import type { Command } from "../command.ts";
import { PolicyClient, type PolicyVersion } from "../policy-client.ts";
import { FLOOR } from "../policy-file.ts";
import type { SettingsLine } from "../settings-line.ts";
import { excerpt, visibleText } from "../visible-text.ts";
import { connect } from "./requests.ts";

const LIMIT_MAX = 1_000;

export const policyShow: Command = {
  usage: "policy show",
  help: "Print the policy in force, or an older version, letter for letter.",
  settings: ["client"],
  options: {
    ...FLOOR,
    number: { type: "text", value: "NUMBER", help: "Of the version. [the one in force]" },
  },

  async run(line, terminal) {
    line.take();
    const version = await policyClient(line).show(numberOf(line, "number")?.toString());
    if (line.json) {
      terminal.out(version.source);
    } else if (version.policy === undefined) {
      terminal.note(`No ${line.flag("floor") ? "floor" : "policy"} was published yet.`);
    } else {
      terminal.note(renderVersion(version));
      tellPolicy(version.policy, terminal);
    }
    return EXIT.done;
  },
};

export const policyHistory: Command = {
  usage: "policy history",
  help: "List the versions that were published, the newest first.",
  settings: ["client"],
  options: {
    ...FLOOR,
    limit: { type: "text", value: "COUNT", help: `At most so many, up to ${LIMIT_MAX}. [50]` },
  },

  async run(line, terminal) {
    line.take();
    const limit = numberOf(line, "limit") ?? 50;
    if (limit > LIMIT_MAX) throw usageError(`--limit is a whole number from 1 to ${LIMIT_MAX}`);
    const { versions, isMore } = await policyClient(line).history(limit);
    if (line.json) {
      terminal.out(`[${versions.map(({ source }) => source).join(",")}]`);
    } else if (versions.length === 0) {
      terminal.out("Nothing was published yet.");
    } else {
      terminal.out(table(versions, terminal.columns));
      if (isMore) terminal.note(`There are more than ${limit}; see --limit.`);
    }
    return EXIT.done;
  },
};

/** As it is for a file; for eyes, with what a terminal would obey made visible. */
export function tellPolicy(source: string, terminal: Terminal): void {
  const text = source.replace(/\n$/, "");
  terminal.out(terminal.isInteractive ? text.split("\n").map(visibleText).join("\n") : text);
}

export function policyClient(line: SettingsLine): PolicyClient {
  return new PolicyClient(connect(line), line.flag("floor"));
}

/** @throws CommandError when the option is given and is no number from 1 on */
export function numberOf(line: SettingsLine, name: string, min = 1): number | undefined {
  const given = line.text(name);
  if (given === undefined) return undefined;
  const number = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
  if (!(number >= min)) throw usageError(`--${name} is a whole number from ${min} on`);
  return number;
}

/** Who published it, when and why, on one line. */
export function renderVersion(version: PolicyVersion): string {
  const { number, sha256, publishedAt, publishedBy, note } = version;
  const why = note === undefined ? "" : `: ${note}`;
  const head = `Version ${number}, published by ${publishedBy} at ${publishedAt}`;
  return visibleText(`${head}${why} (sha256 ${sha256})`);
}

function table(versions: readonly PolicyVersion[], columns: number): string {
  const rows = versions.map(({ number, publishedAt, publishedBy, sha256, note }) => [
    String(number),
    publishedAt,
    excerpt(publishedBy, 30),
    sha256.slice(0, 12),
    note ?? "",
  ]);
  const all = [["VERSION", "PUBLISHED", "BY", "SHA256", "NOTE"], ...rows];
  const widths = [0, 1, 2, 3].map((i) => Math.max(...all.map((row) => (row[i] ?? "").length)));
  const left = columns - widths.reduce((sum, width) => sum + width + 2, 0);
  return all
    .map((row) =>
      row
        .map((cell, i) =>
          i === 4 ? excerpt(cell, Math.max(10, left)) : cell.padEnd(widths[i] ?? 0),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
