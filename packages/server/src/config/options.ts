/**
 * Every setting, once: the parser, `--help` and docs/reference/config.md are made from this
 * table. A setting `port` is `--port` on the command line, `COUNTERSIGN_PORT` in the environment
 * and `port` in the config file; the first of the three that names it wins.
 */

import { CHANNEL_OPTIONS } from "./channel-options.ts";
import { EXTENSION_OPTIONS } from "./extension-settings.ts";
import { OIDC_OPTIONS } from "./oidc-options.ts";
import type { Option, OptionType } from "./option.ts";
import { PROXY_OPTIONS } from "./proxy-options.ts";

export type { Option, OptionType } from "./option.ts";

export const OPTIONS = [
  {
    name: "host",
    type: "text",
    default: "127.0.0.1",
    value: "ADDRESS",
    group: "server",
    help: "Address to listen on. Other than loopback needs TLS or tls_terminated_by_proxy.",
  },
  {
    name: "port",
    type: "integer",
    default: "8787",
    value: "PORT",
    group: "server",
    help: "Port to listen on; 0 selects a free one.",
  },
  {
    name: "data",
    type: "text",
    default: "./data",
    value: "DIR",
    group: "server",
    help: "Folder of the database and the secret key; created on first start.",
  },
  {
    name: "database_url",
    type: "text",
    default: undefined,
    value: "URL",
    secret: "password",
    group: "server",
    help: "PostgreSQL database like postgres://user@host/name, in place of the one in DIR.",
  },
  {
    name: "database_direct_url",
    type: "text",
    default: undefined,
    value: "URL",
    secret: "password",
    group: "server",
    help: "The same database past a transaction pooler, to be notified by other replicas.",
  },
  {
    name: "database_connections_max",
    type: "integer",
    default: "20",
    value: "COUNT",
    group: "server",
    help: "Connections of this process to the database at database_url.",
  },
  {
    name: "database_accept_loss",
    type: "flag",
    default: "false",
    group: "server",
    help: "Use database_url although a crash of that server may lose answered decisions.",
  },
  {
    name: "migrations_off",
    type: "flag",
    default: "false",
    group: "server",
    help: "Refuse a database that must be migrated; run countersign migrate first.",
  },
  {
    name: "config",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "server",
    help: "YAML file with any of these settings by name.",
  },
  {
    name: "path_prefix",
    type: "text",
    default: "",
    value: "PATH",
    group: "server",
    help: "Path in front of the contract surface: /api/aap serves /api/aap/v1/requests.",
  },
  {
    name: "public_url",
    type: "text",
    default: undefined,
    value: "URL",
    group: "server",
    help: "Where people and agents reach this server, like https://host; else it is localhost.",
  },
  {
    name: "tls_cert",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "server",
    help: "Certificate chain in PEM; with tls_key, the server speaks HTTPS.",
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
    help: "32 bytes that seal stored secrets. Without it, DIR/secret.key is made and used.",
  },
  {
    name: "secret_key_previous",
    type: "text",
    default: undefined,
    value: "BASE64,BASE64",
    secret: true,
    group: "server",
    help: "Secret keys that were in use before: what they encrypted is reencrypted at start.",
  },
  {
    name: "log_level",
    type: "text",
    default: "info",
    value: "LEVEL",
    group: "server",
    help: "Least severe log lines: debug, info, warn, error or silent.",
  },
  {
    name: "shutdown_grace",
    type: "duration",
    default: "10s",
    value: "DURATION",
    group: "server",
    help: "How long open exchanges may take to finish after SIGTERM.",
  },
  ...EXTENSION_OPTIONS,
  {
    name: "window_max",
    type: "duration",
    default: "168h",
    value: "DURATION",
    group: "limits",
    help: "Longest time a request may wait for a decision; longer timeouts are shortened to it.",
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
    help: "Longest validity a reviewer may set; the shortest is 1s.",
  },
  {
    name: "retention",
    type: "duration",
    default: "168h",
    value: "DURATION",
    group: "limits",
    help: "How long decided requests, keys and deletion records are kept; at least 168h.",
  },
  {
    name: "body_bytes_max",
    type: "integer",
    default: "1048576",
    value: "BYTES",
    group: "limits",
    help: "Largest request body.",
  },
  {
    name: "connections_max",
    type: "integer",
    default: "20000",
    value: "COUNT",
    group: "limits",
    help: "Open connections, long polls included; more are refused.",
  },
  {
    name: "instance_rate",
    type: "integer",
    default: "500",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges a second for one instance credential, in bursts twice that; 0 is no limit.",
  },
  {
    name: "account_submission_rate",
    type: "integer",
    default: "1000",
    value: "PER_SECOND",
    group: "limits",
    help: "Submitted requests a second for all instances of one provisioner; 0 is no limit.",
  },
  {
    name: "provisioner_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "limits",
    help: "The same for one provisioner token.",
  },
  {
    name: "reviewer_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "limits",
    help: "The same for one reviewer token.",
  },
  {
    name: "unauthenticated_rate",
    type: "integer",
    default: "50",
    value: "PER_SECOND",
    group: "limits",
    help: "Exchanges a second without a valid credential, for one client address; 0 is no limit.",
  },
  ...OIDC_OPTIONS,
  {
    name: "webhooks_off",
    type: "flag",
    default: "false",
    group: "webhooks",
    help: "Refuse every receiver and send no webhooks; agents poll for decisions.",
  },
  {
    name: "webhook_allow_cidrs",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "webhooks",
    help: "Networks that are not public and yet may be receivers, for development and tests.",
  },
  {
    name: "webhook_allow_cidrs_in_production",
    type: "flag",
    default: "false",
    group: "webhooks",
    help: "Accept webhook_allow_cidrs although NODE_ENV is production.",
  },
  {
    name: "webhook_nat64_prefixes",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "webhooks",
    help: "NAT64 prefixes (/96) of this network; the IPv4 address inside is checked.",
  },
  {
    name: "webhook_proxy",
    type: "text",
    default: undefined,
    value: "URL",
    group: "webhooks",
    help: "Forward proxy (CONNECT) for webhooks; it must refuse addresses that are not public.",
  },
  {
    name: "webhook_in_flight_max",
    type: "integer",
    default: "256",
    value: "COUNT",
    group: "webhooks",
    help: "Webhooks that this process sends at the same time, verifications included.",
  },
  {
    name: "webhook_account_in_flight_max",
    type: "integer",
    default: "32",
    value: "COUNT",
    group: "webhooks",
    help: "The same for the receivers of one provisioner.",
  },
  {
    name: "webhook_host_in_flight_max",
    type: "integer",
    default: "4",
    value: "COUNT",
    group: "webhooks",
    help: "The same for one host name.",
  },
  {
    name: "webhook_address_in_flight_max",
    type: "integer",
    default: "8",
    value: "COUNT",
    group: "webhooks",
    help: "The same for one resolved address.",
  },
  {
    name: "webhook_account_rate",
    type: "integer",
    default: "200",
    value: "PER_SECOND",
    group: "webhooks",
    help: "Webhooks a second to the receivers of one provisioner; 0 is no limit.",
  },
  {
    name: "webhook_host_rate",
    type: "integer",
    default: "50",
    value: "PER_SECOND",
    group: "webhooks",
    help: "The same for one host name.",
  },
  {
    name: "webhook_address_rate",
    type: "integer",
    default: "100",
    value: "PER_SECOND",
    group: "webhooks",
    help: "The same for one resolved address.",
  },
  {
    name: "webhook_account_verifications",
    type: "integer",
    default: "10",
    value: "PER_MINUTE",
    group: "webhooks",
    help: "Verifications of receivers a minute for one provisioner; 0 is no limit.",
  },
  {
    name: "webhook_host_verifications",
    type: "integer",
    default: "5",
    value: "PER_MINUTE",
    group: "webhooks",
    help: "The same for one host name.",
  },
  ...CHANNEL_OPTIONS,
  {
    name: "url",
    type: "text",
    default: "http://localhost:8787",
    value: "URL",
    group: "client",
    help: "The server that the requests commands talk to.",
  },
  {
    name: "token",
    type: "text",
    default: undefined,
    value: "TOKEN",
    secret: true,
    group: "client",
    help: "Reviewer token that the requests commands use.",
  },
] as const satisfies readonly Option[];

export type OptionName = (typeof OPTIONS)[number]["name"];

/** The table with its rows widened, for code that treats all of them alike. */
export const ALL_OPTIONS: readonly Option[] = OPTIONS;

type RowOf<N extends OptionName> = Extract<(typeof OPTIONS)[number], { readonly name: N }>;

type Read<T extends OptionType> = T extends "text" ? string : T extends "flag" ? boolean : number;

/** The value of a setting once read; undefined only where the table has no default. */
export type OptionValue<N extends OptionName> = RowOf<N>["default"] extends string
  ? Read<RowOf<N>["type"]>
  : Read<RowOf<N>["type"]> | undefined;

export type OptionValues = { readonly [N in OptionName]: OptionValue<N> };

export function environmentName(name: string): string {
  return `COUNTERSIGN_${name.toUpperCase()}`;
}

export function flagName(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}
