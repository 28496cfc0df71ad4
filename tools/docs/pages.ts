/**
 * The reference pages that are written from tables in the code, whole or in part.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Operation, REVIEW_OPERATIONS, REVIEW_PATH } from "@countersign/review-api";
import { configPage } from "../../packages/server/src/config/config-reference.ts";
import {
  GUIDE_FILE,
  SCHEMA_FILE,
  valuesTable,
  withSettings,
} from "../kubernetes/values-reference.ts";
import { featureOf, reviewOpenApi } from "../openapi/review-openapi.ts";
import { agentPages } from "./agent-pages.ts";
import { cliPage } from "./cli-page.ts";
import { metricsPage } from "./metrics-page.ts";

export interface Page {
  readonly file: string;
  readonly text: () => string | Promise<string>;
}

const ROOT = join(import.meta.dirname, "../..");

export const CONFIG_PAGE: Page = {
  file: join(ROOT, "docs/reference/config.md"),
  text: configPage,
};

const REVIEW_PAGE = join(ROOT, "docs/reference/review-api.md");

export const PAGES: readonly Page[] = [
  CONFIG_PAGE,
  { file: join(ROOT, "contract/review.openapi.yaml"), text: reviewOpenApi },
  { file: join(ROOT, "docs/reference/cli.md"), text: cliPage },
  { file: join(ROOT, "docs/reference/metrics.md"), text: metricsPage },
  { file: REVIEW_PAGE, text: () => withTable(REVIEW_PAGE, "operations", operationTables()) },
  { file: SCHEMA_FILE, text: () => withSettings(readFileSync(SCHEMA_FILE, "utf8")) },
  {
    file: GUIDE_FILE,
    text: () => withTable(GUIDE_FILE, "values", valuesTable(readFileSync(SCHEMA_FILE, "utf8"))),
  },
  ...agentPages().map(({ name, text }): Page => {
    return { file: join(ROOT, `docs/agents/${name}.md`), text: () => text };
  }),
];

/** The page with the present table between its marks. The prose around them is kept. */
function withTable(file: string, name: string, table: string): string {
  const from = `<!-- ${name}: written by npm run docs -->\n`;
  const to = `<!-- end of ${name} -->\n`;
  const [before, rest] = readFileSync(file, "utf8").split(from);
  const [, after] = rest?.split(to) ?? [];
  if (before === undefined || after === undefined) throw new Error(`${file} has no marks`);
  return `${before}${from}${table}${to}${after}`;
}

function operationTables(): string {
  const features = Map.groupBy(Object.entries<Operation>(REVIEW_OPERATIONS), ([name]) =>
    featureOf(name),
  );
  return [...features].map(([feature, rows]) => operationTable(feature, rows)).join("\n");
}

function operationTable(feature: string, rows: readonly (readonly [string, Operation])[]): string {
  const title = feature.replace(/([A-Z])/g, " $1").toLowerCase();
  const lines = rows.map(
    ([, row]) =>
      `| \`${row.method} ${REVIEW_PATH}${row.path}\` | ${requiredCaller(row)} | ${row.summary} |`,
  );
  return [
    `### ${title.replace(/^./, (first) => first.toUpperCase())}`,
    "",
    "| Operation | Requires | Purpose |",
    "| --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
}

function requiredCaller({ caller, power, fresh }: Operation): string {
  const who = caller === "reviewer" ? `\`${power ?? "read"}\`` : CALLERS[caller];
  return fresh ? `${who}, a recent sign-in` : who;
}

const CALLERS = { person: "a session", anonymous: "no credential" };
