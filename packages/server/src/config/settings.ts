/** Parses and validates the settings of a server. */

import { isIP } from "node:net";
import { formatDuration, parseWebhookUrl, RETENTION_MS_MIN } from "@countersign/protocol";
import { parseCidr } from "../core/address.ts";
import type { ClaimMapping } from "../core/claims.ts";
import type { Secrets } from "../secrets/master-key.ts";
import {
  type AuditStreamSecrets,
  type AuditStreamSettings,
  findAuditStreamFaults,
  toAuditStreamSecrets,
  toAuditStreamSettings,
} from "./audit-stream-settings.ts";
import {
  type ExtensionSettings,
  findExtensionFaults,
  toExtensionSettings,
} from "./extension-settings.ts";
import { splitList } from "./list.ts";
import { findMailFaults, type MailSettings, toMailSettings } from "./mail-settings.ts";
import {
  findOidcFaults,
  type OidcSettings,
  toClaimMapping,
  toOidcSettings,
} from "./oidc-settings.ts";
import { ConfigError, type ConfigValues } from "./read-config.ts";
import { readWorkloadSettings, type WorkloadSettings } from "./workload-settings.ts";

export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly dataDirectory: string;
  readonly pathPrefix: string;
  readonly publicUrl: string | undefined;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly tlsTerminatedByProxy: boolean;
  /** Networks of proxies that set `X-Forwarded-For`. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: LogLevel;
  readonly telemetry: TelemetryExporter;
  readonly shutdownGraceMs: number;
  readonly windowMsMax: number;
  readonly validityMsDefault: number;
  readonly validityMsMin: number;
  readonly validityMsMax: number;
  readonly retentionMs: number;
  /** Maximum requests that one transaction of an instance deletion cancels. Not an option. */
  readonly cancellationsPerCommitMax: number;
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  /** Exchanges per second; 0: no limit. */
  readonly rates: {
    readonly instance: number;
    /** Submissions for all instances of one provisioner. */
    readonly accountSubmissions: number;
    readonly provisioner: number;
    readonly reviewer: number;
    readonly unauthenticated: number;
  };
  /** Accepted protocol extensions. */
  readonly extensions: ExtensionSettings;
  /** The OpenID Authorization API. */
  readonly authzen: {
    readonly enabled: boolean;
    readonly timeoutMs: number;
  };
  readonly webhooks: WebhookSettings;
  /**
   * Undefined: the server sends no mail. The server's URL is a secret, because it may contain a
   * password.
   */
  readonly mail: MailSettings | undefined;
  /** Without a trailing slash. */
  readonly chatApiUrls: {
    readonly slack_app: string;
    readonly telegram: string;
    readonly discord: string;
  };
  /** The stream of audit entries. Its URL and credentials are secrets. */
  readonly auditStream: AuditStreamSettings;
  /** Undefined: users sign in with passwords and passkeys only. */
  readonly oidc: OidcSettings | undefined;
  /** How to map users and groups of the identity provider, from id tokens and over SCIM. */
  readonly mapping: ClaimMapping;
  /** Undefined: agents need a stored credential. */
  readonly workloadIdentity: WorkloadSettings | undefined;
  /** For a database at `database_url`. The URL is a secret, because it may contain a password. */
  readonly database: {
    readonly connectionsMax: number;
    readonly acceptsLoss: boolean;
    /** False: a start does not migrate the schema. Applies to both engines. */
    readonly migratesAtStart: boolean;
  };
}

/** Secrets that must not be logged. Kept apart from the settings. */
export interface SecretSettings extends Secrets {
  /** `postgres://...`; undefined when the database is in the data folder. */
  readonly databaseUrl: string | undefined;
  /** The same database for a connection that stays open; undefined: use `databaseUrl`. */
  readonly databaseDirectUrl: string | undefined;
  /** `smtps://...`; undefined: the server sends no mail. */
  readonly smtpUrl: string | undefined;
  /** Undefined for a public client. */
  readonly oidcClientSecret: string | undefined;
  readonly auditStream: AuditStreamSecrets;
}

export interface WebhookSettings {
  /** False: the provider is synchronous-only and sends nothing. */
  readonly enabled: boolean;
  /** Private networks that may contain receivers. */
  readonly allowCidrs: readonly string[];
  readonly nat64Prefixes: readonly string[];
  readonly proxyUrl: string | undefined;
  readonly bounds: WebhookBounds;
}

/**
 * Limits of verifications and deliveries together. In-flight limits are at least 1. Rates allow
 * bursts of twice the rate, verifications bursts of one minute. A rate of 0 means no limit.
 */
export interface WebhookBounds {
  readonly inFlightMax: number;
  readonly accountInFlightMax: number;
  readonly hostInFlightMax: number;
  readonly addressInFlightMax: number;
  /** Messages per second. */
  readonly accountRate: number;
  readonly hostRate: number;
  readonly addressRate: number;
  readonly accountVerificationsPerMinute: number;
  readonly hostVerificationsPerMinute: number;
}

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

const TELEMETRY_EXPORTERS = ["off", "otlp"] as const;

export type TelemetryExporter = (typeof TELEMETRY_EXPORTERS)[number];

const VALIDITY_MS_MIN = 1_000;

/** Ten years. A date within it has a year of four digits. */
const DURATION_MS_MAX = 87_600 * 3_600_000;

/** Enough for any request with empty contents. */
const BODY_BYTES_MIN = 1_024;

/** Larger than the pending requests of most instances, so most deletions are one transaction. */
const CANCELLATIONS_PER_COMMIT_MAX = 500;

/** One for a transaction and one for a concurrent read. */
const DATABASE_CONNECTIONS_MIN = 2;

const BOUNDED_DURATIONS = [
  "authzen_timeout",
  "window_max",
  "validity_max",
  "retention",
  "shutdown_grace",
] as const;

/** Leaves out secret keys, because settings may be logged. */
export function toSettings(values: ConfigValues): Settings {
  const faults = [...findFaults(values)];
  const { workload_identity: workloads, production } = values;
  const workloadIdentity = readWorkloadSettings(workloads, production, faults);
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  const { tls_cert: certFile, tls_key: keyFile } = values;
  return {
    host: values.host,
    port: values.port,
    dataDirectory: values.data,
    pathPrefix: values.path_prefix,
    publicUrl: values.public_url?.replace(/\/+$/, ""),
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
    tlsTerminatedByProxy: values.tls_terminated_by_proxy,
    trustedProxies: splitList(values.trusted_proxies),
    logLevel: values.log_level as LogLevel,
    telemetry: values.telemetry as TelemetryExporter,
    shutdownGraceMs: values.shutdown_grace,
    windowMsMax: values.window_max,
    validityMsDefault: values.validity_default,
    validityMsMin: VALIDITY_MS_MIN,
    validityMsMax: values.validity_max,
    retentionMs: values.retention,
    cancellationsPerCommitMax: CANCELLATIONS_PER_COMMIT_MAX,
    bodyBytesMax: values.body_bytes_max,
    connectionsMax: values.connections_max,
    rates: {
      instance: values.instance_rate,
      accountSubmissions: values.account_submission_rate,
      provisioner: values.provisioner_rate,
      reviewer: values.reviewer_rate,
      unauthenticated: values.unauthenticated_rate,
    },
    extensions: toExtensionSettings(values.extensions),
    authzen: {
      enabled: values.authzen,
      timeoutMs: values.authzen_timeout,
    },
    webhooks: toWebhookSettings(values),
    mail: toMailSettings(values),
    chatApiUrls: {
      slack_app: withoutSlash(values.slack_api_url),
      telegram: withoutSlash(values.telegram_api_url),
      discord: withoutSlash(values.discord_api_url),
    },
    auditStream: toAuditStreamSettings(values),
    oidc: toOidcSettings(values),
    mapping: toClaimMapping(values),
    workloadIdentity,
    database: {
      connectionsMax: values.database_connections_max,
      acceptsLoss: values.database_accept_loss,
      migratesAtStart: !values.migrations_off,
    },
  };
}

export function toSecrets(values: ConfigValues): SecretSettings {
  const { secret_key: secretKey, secret_key_previous: secretKeyPrevious } = values;
  return {
    secretKey,
    secretKeyPrevious,
    databaseUrl: values.database_url,
    databaseDirectUrl: values.database_direct_url,
    smtpUrl: values.smtp_url,
    oidcClientSecret: values.oidc_client_secret,
    auditStream: toAuditStreamSecrets(values),
  };
}

function toWebhookSettings(values: ConfigValues): WebhookSettings {
  return {
    enabled: !values.webhooks_off,
    allowCidrs: splitList(values.webhook_allow_cidrs),
    nat64Prefixes: splitList(values.webhook_nat64_prefixes),
    proxyUrl: values.webhook_proxy,
    bounds: {
      inFlightMax: values.webhook_in_flight_max,
      accountInFlightMax: values.webhook_account_in_flight_max,
      hostInFlightMax: values.webhook_host_in_flight_max,
      addressInFlightMax: values.webhook_address_in_flight_max,
      accountRate: values.webhook_account_rate,
      hostRate: values.webhook_host_rate,
      addressRate: values.webhook_address_rate,
      accountVerificationsPerMinute: values.webhook_account_verifications,
      hostVerificationsPerMinute: values.webhook_host_verifications,
    },
  };
}

function* findFaults(values: ConfigValues): Generator<string> {
  if (values.data === "") yield "data: must be the path of a folder";
  if (values.port > 65_535) yield "port: must be at most 65535";
  const { database_url: databaseUrl, database_direct_url: directUrl } = values;
  if (databaseUrl !== undefined && !isPostgresUrl(databaseUrl)) {
    yield "database_url: must be like postgres://user@host/name";
  }
  if (directUrl !== undefined && !isPostgresUrl(directUrl)) {
    yield "database_direct_url: must be like postgres://user@host/name";
  } else if (directUrl !== undefined && databaseUrl === undefined) {
    yield "database_direct_url: requires database_url; set both";
  }
  if (values.database_connections_max < DATABASE_CONNECTIONS_MIN) {
    yield `database_connections_max: must be at least ${DATABASE_CONNECTIONS_MIN}`;
  }
  if (values.connections_max === 0) yield "connections_max: must be at least 1";
  if (values.body_bytes_max < BODY_BYTES_MIN) {
    yield `body_bytes_max: must be at least ${BODY_BYTES_MIN}`;
  }
  if ((values.tls_cert === undefined) !== (values.tls_key === undefined)) {
    yield "tls_cert and tls_key: set both or neither";
  }
  const encrypted = values.tls_cert !== undefined || values.tls_terminated_by_proxy;
  if (!encrypted && !isLoopback(values.host)) {
    yield `host: listening on ${values.host} requires encryption; ` +
      "set tls_cert and tls_key, or tls_terminated_by_proxy if a proxy terminates TLS";
  }
  for (const text of splitList(values.trusted_proxies)) {
    if (parseCidr(text) !== undefined && !text.endsWith("/0")) continue;
    yield `trusted_proxies: ${text} must be a network like 10.1.0.0/16 or 192.0.2.7/32`;
  }
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(values.path_prefix)) {
    yield "path_prefix: must be like /api/aap, without a trailing slash";
  }
  if (values.public_url !== undefined && !isPublicUrl(values.public_url)) {
    yield "public_url: must be like https://countersign.example.com, without a query or fragment";
  }
  if (!LOG_LEVELS.some((level) => level === values.log_level)) {
    yield `log_level: must be one of ${LOG_LEVELS.join(", ")}`;
  }
  if (!TELEMETRY_EXPORTERS.some((exporter) => exporter === values.telemetry)) {
    yield `telemetry: must be one of ${TELEMETRY_EXPORTERS.join(", ")}`;
  }
  if (values.retention < RETENTION_MS_MIN) {
    yield `retention: must be at least ${formatDuration(RETENTION_MS_MIN)}`;
  }
  for (const name of BOUNDED_DURATIONS) {
    if (values[name] > DURATION_MS_MAX) {
      yield `${name}: must be at most ${formatDuration(DURATION_MS_MAX)}`;
    }
  }
  if (values.validity_default > values.validity_max) {
    yield "validity_default: must not be longer than validity_max";
  }
  if (values.authzen_timeout === 0) yield "authzen_timeout: must be at least 1s";
  yield* findExtensionFaults(values.extensions);
  yield* findOidcFaults(values);
  yield* findWebhookFaults(values);
  yield* findMailFaults(values);
  yield* findChatFaults(values);
  yield* findAuditStreamFaults(values);
}

const CHAT_API_URLS = {
  slack_api_url: "https://slack.com/api",
  telegram_api_url: "https://api.telegram.org",
  discord_api_url: "https://discord.com/api/v10",
} as const;

function* findChatFaults(values: ConfigValues): Generator<string> {
  for (const [name, example] of Object.entries(CHAT_API_URLS)) {
    const url = values[name as keyof typeof CHAT_API_URLS];
    if (parseWebhookUrl(url, { internalNames: true }) !== undefined) continue;
    yield `${name}: must be an https URL such as ${example}`;
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

const PLACES = [
  "webhook_in_flight_max",
  "webhook_account_in_flight_max",
  "webhook_host_in_flight_max",
  "webhook_address_in_flight_max",
] as const;

function* findWebhookFaults(values: ConfigValues): Generator<string> {
  for (const name of PLACES) {
    if (values[name] === 0)
      yield `${name}: must be at least 1; set webhooks_off to send no webhooks`;
  }
  for (const text of splitList(values.webhook_allow_cidrs)) {
    if (parseCidr(text) !== undefined) continue;
    yield `webhook_allow_cidrs: ${text} must be a network like 10.1.0.0/16 or fd00:1::/32`;
  }
  for (const text of splitList(values.webhook_nat64_prefixes)) {
    if (text.endsWith("/96") && text.includes(":") && parseCidr(text) !== undefined) continue;
    yield `webhook_nat64_prefixes: ${text} must be a prefix like 64:ff9b::/96`;
  }
  const isAllowing = splitList(values.webhook_allow_cidrs).length > 0;
  if (isAllowing && values.production && !values.webhook_allow_cidrs_in_production) {
    yield "webhook_allow_cidrs: NODE_ENV is production, and private networks are for " +
      "development; remove the setting, or set webhook_allow_cidrs_in_production";
  }
  const { webhook_proxy: proxy } = values;
  if (proxy !== undefined && !isProxyUrl(proxy)) {
    yield "webhook_proxy: must be like http://proxy.internal:4750";
  }
}

/** Accepts a scheme, host and port. Credentials would be logged, and a path has no meaning. */
function isProxyUrl(text: string): boolean {
  return /^https?:\/\/[^\s/@?#\\]+\/?$/.test(text) && URL.canParse(text);
}

/** The base of links, and the origin that browsers must send. */
function isPublicUrl(text: string): boolean {
  return /^https?:\/\/[^\s@?#\\]+$/.test(text) && URL.canParse(text);
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text);
}

function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  if (isIP(host) === 4) return host.startsWith("127.");
  return host === "::1";
}
