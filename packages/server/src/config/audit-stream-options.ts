/** The settings of the stream of audit entries to a SIEM, for the table in options.ts. */

import type { Option } from "./option.ts";

export const AUDIT_STREAM_OPTIONS = [
  {
    name: "audit_stream_url",
    type: "text",
    default: undefined,
    value: "URL",
    // The URLs of many collectors contain a token.
    secret: true,
    group: "audit",
    help: "HTTPS URL that receives every audit entry, in batches. Unset: nothing is sent.",
  },
  {
    name: "audit_stream_secret",
    type: "text",
    default: undefined,
    value: "SECRET",
    secret: true,
    group: "audit",
    help: "Signing secret (whsec_...) for the batches. Unset: they are not signed.",
  },
  {
    name: "audit_stream_authorization",
    type: "text",
    default: undefined,
    value: "HEADER",
    secret: true,
    group: "audit",
    help: "Value of the header Authorization of the batches, such as Bearer TOKEN.",
  },
  {
    name: "audit_stream_file",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "audit",
    help: "File that receives every audit entry as JSON lines. -: standard output.",
  },
  {
    name: "audit_stream_format",
    type: "text",
    default: "cloudevents",
    value: "FORMAT",
    group: "audit",
    help: "Format of the entries for audit_stream_url and audit_stream_file: cloudevents or ocsf.",
  },
] as const satisfies readonly Option[];
