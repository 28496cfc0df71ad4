/**
 * All settings. The parser, `--help` and docs/reference/config.md use this table. The setting
 * `port` is `--port` on the command line, `COUNTERSIGN_PORT` in the environment and `port` in the
 * config file. The command line overrides the environment, which overrides the file.
 */

import { AUDIT_STREAM_OPTIONS } from "./audit-stream-options.ts";
import { CHANNEL_OPTIONS } from "./channel-options.ts";
import { EXTENSION_OPTIONS } from "./extension-settings.ts";
import { OIDC_OPTIONS } from "./oidc-options.ts";
import type { Option, OptionType } from "./option.ts";
import { PROXY_OPTIONS } from "./proxy-options.ts";
import { WORKLOAD_OPTIONS } from "./workload-options.ts";

export type { Option, OptionType } from "./option.ts";

export const OPTIONS = [
  {
    name: "host",
    type: "text",
    default: "127.0.0.1",
    value: "ADDRESS",
    group: "server",
    help: "Listen address. If not loopback, TLS or tls_terminated_by_proxy is required.",
  },
  {
    name: "port",
    type: "integer",
    default: "8787",
    value: "PORT",
    group: "server",
    help: "Port to listen on. 0 selects a free port.",
  },
  {
    name: "data",
    type: "text",
    default: "./data",
    value: "DIR",
    group: "server",
    help: "Folder of the database and the secret key. Created at the first start.",
  },
  {
    name: "database_url",
    type: "text",
    default: undefined,
    value: "URL",
    secret: "password",
    group: "server",
    help: "PostgreSQL URL, such as postgres://user@host/name. Unset: SQLite in folder data.",
  },
  {
    name: "database_direct_url",
    type: "text",
    default: undefined,
    value: "URL",
    secret: "password",
    group: "server",
    help: "URL of the same database without a transaction pooler, for LISTEN and NOTIFY.",
  },
  {
    name: "database_connections_max",
    type: "integer",
    default: "20",
    value: "COUNT",
    group: "server",
    help: "Maximum connections of this process to database_url.",
  },
  {
    name: "database_accept_loss",
    type: "flag",
    default: "false",
    group: "server",
    help: "Allow a database that may lose committed decisions in a crash.",
  },
  {
    name: "migrations_off",
    type: "flag",
    default: "false",
    group: "server",
    help: "Do not migrate the database at the start. Run countersign migrate first.",
  },
  {
    name: "config",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "server",
    help: "YAML file with settings by name.",
  },
  {
    name: "path_prefix",
    type: "text",
    default: "",
    value: "PATH",
    group: "server",
    help: "Path before the contract's paths: /api/aap serves /api/aap/v1/requests.",
  },
  {
    name: "public_url",
    type: "text",
    default: undefined,
    value: "URL",
    group: "server",
    help: "URL that users and agents open, such as https://host. Unset: localhost.",
  },
  {
    name: "tls_cert",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "server",
    help: "Certificate chain in PEM. With tls_key, the server uses HTTPS.",
  },
  {
    name: "tls_key",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "server",
    help: "Private key of tls_cert in PEM.",
  },
  ...PROXY_OPTIONS,
  {
    name: "secret_key",
    type: "text",
    default: undefined,
    value: "BASE64",
    secret: true,
    group: "server",
    help: "Key (32 bytes) that encrypts stored secrets. Unset: secret.key in folder data.",
  },
  {
    name: "secret_key_previous",
    type: "text",
    default: undefined,
    value: "BASE64,BASE64",
    secret: true,
    group: "server",
    help: "Previous keys. At the start, the server encrypts their secrets with secret_key.",
  },
  {
    name: "log_level",
    type: "text",
    default: "info",
    value: "LEVEL",
    group: "server",
    help: "Minimum level of log lines: debug, info, warn, error or silent.",
  },
  {
    name: "telemetry",
    type: "text",
    default: "off",
    value: "EXPORTER",
    group: "server",
    help: "otlp: export OpenTelemetry traces and metrics. Needs @countersign/telemetry.",
  },
  {
    name: "shutdown_grace",
    type: "duration",
    default: "10s",
    value: "DURATION",
    group: "server",
    help: "Maximum time for open exchanges to finish after SIGTERM.",
  },
  ...EXTENSION_OPTIONS,
  {
    name: "authzen",
    type: "flag",
    default: "false",
    group: "server",
    help: "Serve the OpenID Authorization API and its profile for access requests.",
  },
  {
    name: "authzen_timeout",
    type: "duration",
    default: "1h",
    value: "DURATION",
    group: "limits",
    help: "How long an access request of the OpenID Authorization API waits for a decision.",
  },
  {
    name: "window_max",
    type: "duration",
    default: "168h",
    value: "DURATION",
    group: "limits",
    help: "Maximum time that a request waits for a decision. Longer timeouts are shortened.",
  },
  {
    name: "validity_default",
    type: "duration",
    default: "5m",
    value: "DURATION",
    group: "limits",
    help: "Validity of an approval when the reviewer sets none.",
  },
  {
    name: "validity_max",
    type: "duration",
    default: "24h",
    value: "DURATION",
    group: "limits",
    help: "Maximum validity that a reviewer may set. The minimum is 1s.",
  },
  {
    name: "retention",
    type: "duration",
    default: "168h",
    value: "DURATION",
    group: "limits",
    help: "How long to keep decided requests, keys and deletion records. At least 168h.",
  },
  {
    name: "body_bytes_max",
    type: "integer",
    default: "1048576",
    value: "BYTES",
    group: "limits",
    help: "Maximum size of a request body.",
  },
  {
    name: "connections_max",
    type: "integer",
    default: "20000",
    value: "COUNT",
    group: "limits",
    help: "Maximum open connections, including long polls. More are rejected.",
  },
  {
    name: "instance_rate",
    type: "integer",
    default: "500",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges per second of one instance credential, in bursts of 2x. 0: no limit.",
  },
  {
    name: "account_submission_rate",
    type: "integer",
    default: "1000",
    value: "PER_SECOND",
    group: "limits",
    help: "Submissions per second of all instances of one provisioner. 0: no limit.",
  },
  {
    name: "provisioner_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges per second of one provisioner token. 0: no limit.",
  },
  {
    name: "reviewer_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges per second of one reviewer token. 0: no limit.",
  },
  {
    name: "unauthenticated_rate",
    type: "integer",
    default: "50",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges per second without a valid credential, per client address. 0: no limit.",
  },
  ...OIDC_OPTIONS,
  ...WORKLOAD_OPTIONS,
  {
    name: "webhooks_off",
    type: "flag",
    default: "false",
    group: "webhooks",
    help: "Reject every receiver and send no webhooks. Agents poll for decisions.",
  },
  {
    name: "webhook_allow_cidrs",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "webhooks",
    help: "Private networks to which webhooks may go, for development and tests.",
  },
  {
    name: "webhook_allow_cidrs_in_production",
    type: "flag",
    default: "false",
    group: "webhooks",
    help: "Accept webhook_allow_cidrs when NODE_ENV is production.",
  },
  {
    name: "webhook_nat64_prefixes",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "webhooks",
    help: "NAT64 prefixes (/96) of this network. The embedded IPv4 address is checked.",
  },
  {
    name: "webhook_proxy",
    type: "text",
    default: undefined,
    value: "URL",
    group: "webhooks",
    help: "Forward proxy (CONNECT) for webhooks. It must reject non-public addresses.",
  },
  {
    name: "webhook_in_flight_max",
    type: "integer",
    default: "256",
    value: "COUNT",
    group: "webhooks",
    help: "Maximum concurrent webhooks of this process, including verifications.",
  },
  {
    name: "webhook_account_in_flight_max",
    type: "integer",
    default: "32",
    value: "COUNT",
    group: "webhooks",
    help: "Maximum concurrent webhooks to receivers of one provisioner.",
  },
  {
    name: "webhook_host_in_flight_max",
    type: "integer",
    default: "4",
    value: "COUNT",
    group: "webhooks",
    help: "Maximum concurrent webhooks to one host name.",
  },
  {
    name: "webhook_address_in_flight_max",
    type: "integer",
    default: "8",
    value: "COUNT",
    group: "webhooks",
    help: "Maximum concurrent webhooks to one resolved address.",
  },
  {
    name: "webhook_account_rate",
    type: "integer",
    default: "200",
    value: "PER_SECOND",
    group: "webhooks",
    help: "Webhooks per second to receivers of one provisioner. 0: no limit.",
  },
  {
    name: "webhook_host_rate",
    type: "integer",
    default: "50",
    value: "PER_SECOND",
    group: "webhooks",
    help: "Webhooks per second to one host name. 0: no limit.",
  },
  {
    name: "webhook_address_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "webhooks",
    help: "Webhooks per second to one resolved address. 0: no limit.",
  },
  {
    name: "webhook_account_verifications",
    type: "integer",
    default: "10",
    value: "PER_MINUTE",
    group: "webhooks",
    help: "Receiver verifications per minute of one provisioner. 0: no limit.",
  },
  {
    name: "webhook_host_verifications",
    type: "integer",
    default: "5",
    value: "PER_MINUTE",
    group: "webhooks",
    help: "Receiver verifications per minute of one host name. 0: no limit.",
  },
  ...CHANNEL_OPTIONS,
  ...AUDIT_STREAM_OPTIONS,
  {
    name: "url",
    type: "text",
    default: "http://localhost:8787",
    value: "URL",
    group: "client",
    help: "URL of the server that the client commands use.",
  },
  {
    name: "token",
    type: "text",
    default: undefined,
    value: "TOKEN",
    secret: true,
    group: "client",
    help: "Reviewer token that the client commands use.",
  },
] as const satisfies readonly Option[];

export type OptionName = (typeof OPTIONS)[number]["name"];

/** The same table with wider types, for code that iterates over all rows. */
export const ALL_OPTIONS: readonly Option[] = OPTIONS;

type RowOf<N extends OptionName> = Extract<(typeof OPTIONS)[number], { readonly name: N }>;

type Read<T extends OptionType> = T extends "text" ? string : T extends "flag" ? boolean : number;

/** Type of a parsed value; undefined only for a setting without a default. */
export type OptionValue<N extends OptionName> = RowOf<N>["default"] extends string
  ? Read<RowOf<N>["type"]>
  : Read<RowOf<N>["type"]> | undefined;

export type OptionValues = { readonly [N in OptionName]: OptionValue<N> };

export function environmentName(name: string): string {
  return `COUNTERSIGN_${name.toUpperCase()}`;
}

/** The settings that can be in files of their own; a variable names each file. */
export const SECRET_OPTIONS: readonly Option[] = ALL_OPTIONS.filter(
  ({ secret }: Option) => secret !== undefined,
);

/** `COUNTERSIGN_SECRET_KEY_FILE`. */
export function fileVariable(name: string): string {
  return `${environmentName(name)}_FILE`;
}

export function flagName(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}
