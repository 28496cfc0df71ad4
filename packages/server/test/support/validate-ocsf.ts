/**
 * Validates events against the published OCSF schema 1.8.0: class API Activity with the profiles
 * `ai_operation` and `security_control`. ocsf-api-activity-1.8.0.json is the unchanged output of
 * the Python package ocsf-json-schema 1.2.0 (MIT):
 * `OcsfJsonSchemaEmbedded(get_ocsf_schema("1.8.0")).get_class_schema("api_activity", profiles)`.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";

const FILE = join(import.meta.dirname, "ocsf-api-activity-1.8.0.json");

const ajv = new Ajv2020({ allErrors: true, strict: false });

const validate = ajv.compile(JSON.parse(readFileSync(FILE, "utf8")));

/** @returns one line for each fault */
export function validateOcsf(event: unknown): string[] {
  if (validate(event)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
