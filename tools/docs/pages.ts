/**
 * The reference pages that are written from tables in the code, whole or in part.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Operation, REVIEW_OPERATIONS, REVIEW_PATH } from "@countersign/review-api";
import { configPage } from "../../packages/server/src/config/config-reference.ts";
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
  { file: REVIEW_PAGE, text: () => withOperations(readFileSync(REVIEW_PAGE, "utf8")) },
  ...agentPages().map(({ name, text }): Page => {
    return { file: join(ROOT, `docs/agents/${name}.md`), text: () => text };
  }),
];

const FROM = "<!-- operations: written by npm run docs -->\n";
const TO = "<!-- end of operations -->\n";

/** The page with the present operations between its marks; the prose around them is kept. */
function withOperations(page: string): string {
  const [before, rest] = page.split(FROM);
  const [, after] = rest?.split(TO) ?? [];
  if (before === undefined || after === undefined) throw new Error(`${REVIEW_PAGE} has no marks`);
  return `${before}${FROM}${operationTables()}${TO}${after}`;
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
