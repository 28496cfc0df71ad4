/** The commands that show the active policy and its history. */

import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import { exactText, type PolicyOutline } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { FLOOR, scopeOf } from "../policy-file.ts";
import { collect } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";
import type { SettingsLine } from "../settings-line.ts";
import { excerpt, visibleText } from "../visible-text.ts";

export const policyShow: Command = {
  usage: "policy show",
  help: "Print the active policy or an older version.",
  example: "policy show > policy.yaml",
  settings: ["client"],
  options: {
    ...FLOOR,
    number: { type: "text", value: "NUMBER", help: "Number of the version. [the active one]" },
  },

  async run(line, terminal) {
    line.take();
    const number = numberOf(line, "number");
    const api = connectApi(line);
    const scope = scopeOf(line);
    const version =
      number === undefined
        ? await api.call(`GET /${scope}`)
        : await api.call(`GET /${scope}/versions/{number}`, { path: { number: String(number) } });
    if (line.json) {
      terminal.out(exactText(version));
    } else if (!("source" in version)) {
      terminal.note(`No ${line.flag("floor") ? "floor" : "policy"} has been published.`);
    } else {
      terminal.note(renderVersion(version));
      printPolicy(version.source, terminal);
    }
    return EXIT.done;
  },
};

export const policyHistory: Command = {
  usage: "policy history",
  help: "List published versions, latest first.",
  example: "policy history --limit 10",
  settings: ["client"],
  options: {
    ...FLOOR,
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const limit = ROW_LIMIT.read(line);
    const api = connectApi(line);
    const { items: versions, hasMore } = await collect(
      limit,
      (limit, after) => api.call(`GET /${scopeOf(line)}/versions`, { query: { limit, after } }),
      (page) => page.versions,
    );
    printRows(line, terminal, {
      json: versions.map(exactText),
      empty: "No version has been published.",
      renderTable: () => table(versions, terminal.columns),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

/** As it is for a file; for eyes, with what a terminal would obey made visible. */
export function printPolicy(source: string, terminal: Terminal): void {
  const text = source.replace(/\n$/, "");
  terminal.out(terminal.isInteractive ? text.split("\n").map(visibleText).join("\n") : text);
}

/** @throws CommandError when the option is given and is not a number from 1 on */
export function numberOf(line: SettingsLine, name: string, min = 1): number | undefined {
  const value = line.text(name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min)) throw usageError(`--${name} must be a whole number from ${min}`);
  return number;
}

/** Publisher, time and reason, on one line. */
export function renderVersion(version: PolicyOutline): string {
  const { number, sha256, published_at: at, note } = version;
  const why = note === undefined ? "" : `: ${note}`;
  const head = `Version ${number}, published by ${publisherOf(version)} at ${at}`;
  return visibleText(`${head}${why} (sha256 ${sha256})`);
}

function publisherOf({ publisher, published_by: publishedBy }: PolicyOutline): string {
  return publisher ?? publishedBy;
}

function table(versions: readonly PolicyOutline[], columns: number): string {
  const rows = versions.map((version) => [
    String(version.number),
    version.published_at,
    excerpt(publisherOf(version), 30),
    version.sha256.slice(0, 12),
    version.note ?? "",
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
