/**
 * The parts of the chart that come from other tables: the settings in values.schema.json, and the
 * table of all values in the guide.
 */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import type { Option } from "../../packages/server/src/config/option.ts";
import { ALL_OPTIONS, SECRET_OPTIONS } from "../../packages/server/src/config/options.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export const CHART = join(ROOT, "deploy/helm");
export const SCHEMA_FILE = join(CHART, "values.schema.json");
export const GUIDE_FILE = join(ROOT, "docs/guides/kubernetes.md");

/** The chart sets them: port, folder and files of the container, and HTTPS at the proxy. */
const SET_BY_CHART = [
  "config",
  "data",
  "host",
  "port",
  "tls_cert",
  "tls_key",
  "tls_terminated_by_proxy",
  "workload_identity",
];

const isOfServer = ({ group }: Option): boolean => group !== "client";

/** The settings in the value `settings`. */
export const PLAIN_SETTINGS: readonly Option[] = ALL_OPTIONS.filter(
  (option) =>
    isOfServer(option) && !SET_BY_CHART.includes(option.name) && !SECRET_OPTIONS.includes(option),
);

/** The settings in the Secret. */
export const SECRET_SETTINGS: readonly Option[] = SECRET_OPTIONS.filter(isOfServer);

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [key: string]: unknown;
}

function settingSchema({ name, type, help }: Option): Schema {
  const description = help;
  if (type === "integer") return { type: "integer", description, minimum: 0 };
  if (type === "flag") return { type: "boolean", description };
  if (type === "duration") return { type: "string", description, pattern: "^[0-9]+[smh]$" };
  if (name === "public_url") return { type: "string", description, pattern: "^https://." };
  return { type: "string", description };
}

/** @param schema values.schema.json, with the settings of any version */
export function withSettings(schema: string): string {
  const parsed = JSON.parse(schema) as {
    properties: {
      settings: { properties: object };
      secret: { properties: { settings: { items: object } } };
    };
  };
  const { settings, secret } = parsed.properties;
  const entries = PLAIN_SETTINGS.map((option) => [option.name, settingSchema(option)]);
  settings.properties = Object.fromEntries(entries);
  secret.properties.settings.items = { enum: SECRET_SETTINGS.map(({ name }) => name) };
  return `${JSON.stringify(parsed, null, 2)}\n`;
}

/** The defaults of every version of the chart are in values.yaml. */
function defaultOf(path: readonly string[]): string {
  const values = parse(readFileSync(join(CHART, "values.yaml"), "utf8")) as unknown;
  const value = path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<string, unknown>>)[key],
    values,
  );
  if (value === "") return "";
  return `\`${typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", ")}\``;
}

function rowsOf(schema: Schema, path: readonly string[] = []): string[] {
  const { properties = {}, description } = schema;
  if (description !== undefined) {
    return [`| \`${path.join(".")}\` | ${defaultOf(path)} | ${description} |`];
  }
  return Object.entries(properties).flatMap(([name, inner]) => rowsOf(inner, [...path, name]));
}

export function valuesTable(schema: string): string {
  const { properties = {} } = JSON.parse(schema) as Schema;
  const { global: _, ...ours } = properties;
  return [
    "| Value | Default | Meaning |",
    "| --- | --- | --- |",
    ...rowsOf({ properties: ours }),
    "",
  ].join("\n");
}
