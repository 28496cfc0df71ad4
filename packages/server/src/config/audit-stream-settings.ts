/** The stream of audit entries to a SIEM, from the settings. */

import { parseSigningSecret, parseWebhookUrl } from "@countersign/protocol";
import { parseStreamFormat, type StreamFormat } from "../core/audit-stream.ts";
import type { ConfigValues } from "./read-config.ts";

export interface AuditStreamSettings {
  readonly format: StreamFormat;
  /** `-`: standard output. Undefined: no file is written. */
  readonly file: string | undefined;
}

/** Settings of the HTTP stream that must not be logged. */
export interface AuditStreamSecrets {
  /** A valid URL; undefined: nothing is sent. */
  readonly url: string | undefined;
  readonly signingSecret: string | undefined;
  readonly authorization: string | undefined;
}

export function toAuditStreamSettings(values: ConfigValues): AuditStreamSettings {
  const format = parseStreamFormat(values.audit_stream_format) ?? "cloudevents";
  return { format, file: values.audit_stream_file };
}

export function toAuditStreamSecrets(values: ConfigValues): AuditStreamSecrets {
  return {
    url: values.audit_stream_url,
    signingSecret: values.audit_stream_secret,
    authorization: values.audit_stream_authorization,
  };
}

/** Printable ASCII, as Node accepts it in a header. */
const AUTHORIZATION = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

export function* findAuditStreamFaults(values: ConfigValues): Generator<string> {
  const { audit_stream_url: url, audit_stream_secret: secret } = values;
  const { audit_stream_authorization: authorization, audit_stream_file: file } = values;
  if (url !== undefined && parseWebhookUrl(url, { internalNames: true }) === undefined) {
    yield "audit_stream_url: must be an https URL such as https://collector.example.com/events";
  }
  if (secret !== undefined && parseSigningSecret(secret) === undefined) {
    yield "audit_stream_secret: must be whsec_ and 32 bytes in base64; create it with " +
      'echo "whsec_$(openssl rand -base64 32)"';
  }
  if (authorization !== undefined && !AUTHORIZATION.test(authorization)) {
    yield "audit_stream_authorization: must be a header value such as Bearer TOKEN";
  }
  if (url === undefined && (secret ?? authorization) !== undefined) {
    yield "audit_stream_secret and audit_stream_authorization: require audit_stream_url; set it";
  }
  if (file === "") yield "audit_stream_file: must be the path of a file, or - for standard output";
  if (parseStreamFormat(values.audit_stream_format) === undefined) {
    yield "audit_stream_format: must be cloudevents or ocsf";
  }
}
