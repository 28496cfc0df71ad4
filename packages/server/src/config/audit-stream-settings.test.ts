import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "./read-config.ts";
import { toSecrets, toSettings } from "./settings.ts";

const URL = "https://collector.internal:8443/events?token=s3cret";
const SECRET = `whsec_${"A".repeat(43)}=`;

function variablesOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings).map(
    ([name, value]) => [`COUNTERSIGN_AUDIT_STREAM_${name.toUpperCase()}`, value] as const,
  );
  return Object.fromEntries(entries);
}

function faultOf(settings: Readonly<Record<string, string>>): string {
  try {
    toSettings(readConfig({}, variablesOf(settings)));
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return "";
}

test("[ours.stream.settings] without settings there is no stream", () => {
  const values = readConfig({}, {});
  assert.deepEqual(toSettings(values).auditStream, { format: "cloudevents", file: undefined });
  assert.equal(toSecrets(values).auditStream.url, undefined);
});

test("[ours.stream.settings] the URL may name an internal host, and only the secrets contain it", () => {
  const authorization = "Splunk 1-2-3";
  const all = { url: URL, secret: SECRET, authorization, file: "-", format: "ocsf" };
  const values = readConfig({}, variablesOf(all));
  const settings = toSettings(values);
  assert.deepEqual(settings.auditStream, { format: "ocsf", file: "-" });
  assert.doesNotMatch(JSON.stringify(settings), /s3cret|whsec|Splunk/);
  assert.deepEqual(toSecrets(values).auditStream, {
    url: URL,
    signingSecret: SECRET,
    authorization,
  });
});

const FAULTS: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{ url: "http://collector.internal/x" }, /^audit_stream_url: must be an https URL/],
  [{ url: "https://user:s3cret@host/" }, /^audit_stream_url: /],
  [{ url: URL, secret: "s3cret" }, /^audit_stream_secret: must be whsec_/],
  [{ url: URL, authorization: "Bearer s3cret\nx: y" }, /^audit_stream_authorization: /],
  [{ url: URL, authorization: " " }, /^audit_stream_authorization: /],
  [{ secret: SECRET }, /require audit_stream_url/],
  [{ file: "" }, /^audit_stream_file: /],
  [{ format: "json" }, /^audit_stream_format: must be cloudevents or ocsf$/],
];

for (const [settings, expected] of FAULTS) {
  test(`[ours.stream.settings] ${JSON.stringify(settings)} is rejected without its secret`, () => {
    const fault = faultOf(settings);
    assert.match(fault, expected);
    assert.doesNotMatch(fault, /s3cret/);
    assert.equal(fault.split("\n").length, 1);
  });
}
