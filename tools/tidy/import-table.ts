/**
 * The allowed imports. Change this table when you add a room. Imports point one way,
 *
 *   http, review, workers -> operations -> steps -> core, policy, storage, audit -> protocol
 *
 * and `provider` alone constructs everything.
 */

export interface PackageEntry {
  /** The name that other packages import it by. */
  readonly name: string;
  /** Folders of the packages it may import. */
  readonly imports: readonly string[];
  /**
   * Files that may import from outside of the repository, including Node's own modules: all, none,
   * or only these files of its src.
   */
  readonly outside: boolean | readonly string[];
}

/** By folder under packages/. */
export const PACKAGES: Readonly<Record<string, PackageEntry>> = {
  protocol: { name: "@countersign/protocol", imports: [], outside: false },
  "review-api": {
    name: "@countersign/review-api",
    imports: ["protocol"],
    outside: true,
  },
  // Types only: the server loads this package.
  telemetry: { name: "@countersign/telemetry", imports: ["server"], outside: true },
  server: {
    name: "@countersign/server",
    imports: ["agents", "protocol", "review-api"],
    outside: true,
  },
  // Its core runs wherever fetch exists; what needs more has a subpath of its own.
  sdk: {
    name: "@countersign/sdk",
    imports: ["protocol"],
    outside: [
      "file-store.ts",
      "node.ts",
      "ai.ts",
      "claude-agent-sdk.ts",
      "langchain.ts",
      "mastra.ts",
      "mcp.ts",
      "openai-agents.ts",
    ],
  },
  agents: { name: "@countersign/agents", imports: ["protocol"], outside: true },
  "command-line": { name: "@countersign/command-line", imports: ["protocol"], outside: true },
  "agent-hooks": {
    name: "@countersign/agent-hooks",
    imports: ["agents", "sdk", "command-line", "protocol"],
    outside: true,
  },
  "mcp-gateway": {
    name: "@countersign/mcp-gateway",
    imports: ["sdk", "command-line", "protocol"],
    outside: true,
  },
  conformance: {
    name: "@countersign/conformance",
    imports: ["command-line", "protocol"],
    outside: true,
  },
  console: { name: "@countersign/console", imports: ["protocol", "review-api"], outside: true },
  cli: {
    name: "countersign",
    imports: [
      "server",
      "protocol",
      "review-api",
      "sdk",
      "command-line",
      "agent-hooks",
      "mcp-gateway",
      "conformance",
    ],
    outside: true,
  },
  // Tests alone import it.
  testing: { name: "@countersign/testing", imports: ["server", "protocol"], outside: true },
};

export interface RoomEntry {
  /** Rooms it may import. */
  readonly values: readonly string[];
  /** Rooms it may import the types of, besides those. */
  readonly types: readonly string[];
}

/** Basic types: an error class, the injected time, a map of bounded size, the version. */
const BASICS = ["failure", "clock", "recently-used", "sync-folder", "version"];

/** Limiters of concurrency and rates: a slot counter, the queue for slots, token buckets. */
const LIMITERS = ["rate-limiter", "keyed-semaphore", "keyed-queue"];

/** The rooms whose types any room in the middle of the house may speak about. */
const MIDDLE = [
  "core",
  "policy",
  "examiner",
  "storage",
  "audit",
  "secrets",
  "wake",
  "identity",
  "egress",
  "delivery",
  "notify",
  "oidc",
  "config",
  "context",
  "report",
  "telemetry-interface",
  "tracing",
];

/** The entry points: they call operations and never access the store. */
const DOOR: RoomEntry = {
  values: [
    ...BASICS,
    ...LIMITERS,
    "operations",
    "core",
    "policy",
    "context",
    "report",
    "config",
    "secrets",
    "identity",
  ],
  types: [],
};

const EVERYTHING = [
  ...BASICS,
  ...LIMITERS,
  "release-on-failure",
  "timer-loop",
  ...MIDDLE,
  "operations",
  "http",
  "review",
  "outbox",
  "workers",
  "open-context",
  "provider",
  "maintenance",
  "gauges",
  "metrics",
  "telemetry",
];

/** The rooms that an operation may import, besides steps. */
const BELOW_OPERATIONS = [
  ...BASICS,
  "core",
  "policy",
  "storage",
  "audit",
  "secrets",
  "wake",
  "identity",
  "context",
];

/** By folder or file under packages/server/src. Its own room and protocol are always allowed. */
export const ROOMS: Readonly<Record<string, RoomEntry>> = {
  failure: { values: [], types: [] },
  clock: { values: [], types: [] },
  "recently-used": { values: [], types: [] },
  "sync-folder": { values: [], types: [] },
  version: { values: [], types: [] },
  "release-on-failure": { values: [], types: [] },
  "rate-limiter": { values: BASICS, types: [] },
  "keyed-semaphore": { values: [], types: ["rate-limiter"] },
  "keyed-queue": { values: BASICS, types: ["keyed-semaphore"] },
  "timer-loop": { values: BASICS, types: MIDDLE },
  core: { values: [], types: ["tracing"] },
  policy: { values: ["recently-used"], types: [] },
  // Policies are read in a thread that knows nothing else.
  examiner: { values: [...BASICS, "policy"], types: [] },
  // The interface to distributed tracing: types alone.
  tracing: { values: [], types: [] },
  "telemetry-interface": { values: [], types: ["tracing"] },
  storage: { values: BASICS, types: ["core"] },
  audit: { values: [...BASICS, "storage", "core"], types: [] },
  secrets: { values: BASICS, types: [] },
  wake: { values: BASICS, types: MIDDLE },
  // The outbound HTTP client with SSRF protection.
  egress: { values: [...BASICS, "core"], types: MIDDLE },
  delivery: { values: [...BASICS, ...LIMITERS, "core", "secrets", "egress"], types: MIDDLE },
  // Its messages leave through the egress client; mail goes to the server of the settings.
  notify: {
    values: [...BASICS, "core", "secrets", "egress", "delivery", "config"],
    types: MIDDLE,
  },
  // The second way out, to the identity provider and the issuers of workload tokens.
  oidc: { values: [...BASICS, "core"], types: MIDDLE },
  identity: { values: [...BASICS, "core", "storage", "audit", "secrets"], types: MIDDLE },
  config: { values: [...BASICS, "core"], types: ["secrets"] },
  // Label values that exist from the start are the closed sets of core.
  metrics: { values: ["core", "version"], types: ["storage", "telemetry-interface"] },
  telemetry: { values: [...BASICS, "version"], types: [...MIDDLE, "metrics", "report"] },
  "standard-output": { values: [], types: [] },
  report: { values: [...BASICS, "metrics", "standard-output"], types: MIDDLE },
  context: { values: BASICS, types: [...MIDDLE, "rate-limiter"] },
  // Parts of transactions that operations share; no other room imports them.
  steps: { values: BELOW_OPERATIONS, types: MIDDLE },
  operations: { values: [...BELOW_OPERATIONS, "steps"], types: MIDDLE },
  http: DOOR,
  // The reviewer API shares exchange, authenticate and wire with http.
  review: { values: [...DOOR.values, "http"], types: ["wake"] },
  // Claims and records are operations; scans and checks of claims read rows directly.
  outbox: {
    values: [
      ...BASICS,
      ...LIMITERS,
      "timer-loop",
      "core",
      "delivery",
      "operations",
      "storage",
      "context",
      "report",
    ],
    types: MIDDLE,
  },
  workers: { values: [...DOOR.values, "timer-loop", "outbox"], types: ["wake"] },
  gauges: { values: [...BASICS, "operations"], types: MIDDLE },
  // Work on a whole database, for commands: migrations, imports, verification, archives.
  maintenance: { values: [...BASICS, "storage", "secrets", "audit", "core"], types: MIDDLE },
  "open-context": { values: EVERYTHING, types: [] },
  provider: { values: EVERYTHING, types: [] },
  index: { values: EVERYTHING, types: [] },
};

/** The rooms that are divided into features, under the same names in each. */
export const DIVIDED = ["operations", "steps", "review", "storage/sql"];

/**
 * The features, lowest first: inside a divided room, a feature imports only those before it. The
 * files beside the feature folders are free: routes that gather features, helpers of all of them.
 */
export const FEATURES: readonly string[] = [
  "shared",
  "pages",
  "access",
  "channels",
  "operate",
  "oncall",
  "push",
  "policy",
  "grants",
  "requests",
  "chat",
  "freezes",
  "deliveries",
  "instances",
  "history",
  "live",
  "audit",
  "search",
  "people",
  "tokens",
  "sign-in",
  "scim",
];

export interface Fence {
  readonly module: RegExp;
  /** Files or folders (with a slash at the end) that may import it. */
  readonly within: readonly string[];
}

/** The conformance kit is a client and a receiver of its own, in a process of its own. */
const KIT = [
  "packages/conformance/src/client/",
  "packages/conformance/src/receiver/",
  "packages/conformance/src/scenarios/receiver-input.ts",
];

/** Modules that one place alone may know. */
export const FENCES: readonly Fence[] = [
  {
    module: /^(fastify|@fastify\/.+)$/,
    within: [
      "packages/server/src/http/",
      "packages/server/src/review/",
      "packages/server/src/provider.ts",
    ],
  },
  // One client connects to addresses that others choose: egress/egress-client.ts.
  {
    module: /^(undici|(node:)?(https|http2|tls|dns|dns\/promises|dgram))$/,
    within: [
      "packages/server/src/egress/",
      "packages/server/src/http/create-http-server.ts",
      // The global fetch takes longer to load than the rest of the hook.
      "packages/agent-hooks/src/hook/provider-fetch.ts",
      ...KIT,
    ],
  },
  {
    module: /^(node:)?(http|net)$/,
    within: [
      "packages/server/src/egress/",
      "packages/server/src/http/",
      "packages/server/src/config/settings.ts",
      "packages/server/src/config/mail-settings.ts",
      "packages/server/src/provider.ts",
      "packages/sdk/src/node.ts",
      // Doctor plays the model of an agent on a loopback port.
      "packages/agent-hooks/src/doctor/model-stand-in.ts",
      "packages/agent-hooks/src/hook/provider-fetch.ts",
      "packages/mcp-gateway/src/admission.ts",
      "packages/mcp-gateway/src/http-front.ts",
      "packages/mcp-gateway/src/stateless-http.ts",
      "packages/mcp-gateway/src/oauth/login.ts",
      "packages/conformance/src/command/read-options.ts",
      ...KIT,
    ],
  },
  // The environment is read where Biome's noProcessEnv allows it.
  { module: /^(node:)?process$/, within: [] },
  { module: /^node:sqlite$/, within: ["packages/server/src/storage/sqlite/"] },
  // The second way out: it reaches what the operator named, through one function. In the gateway,
  // this function is in oauth/discovery.ts.
  {
    module: /^(openid-client|oauth4webapi|jose)(\/.+)?$/,
    within: [
      "packages/server/src/oidc/logout-verifier.ts",
      "packages/server/src/oidc/openid-provider.ts",
      "packages/server/src/oidc/provider-fetch.ts",
      "packages/server/src/oidc/remote-keys.ts",
      "packages/server/src/oidc/workload-tokens.ts",
      "packages/server/test/support/workload-issuer.ts",
      "packages/mcp-gateway/src/oauth/",
      "packages/mcp-gateway/test/",
    ],
  },
  // The parser of conditions is behind one file; what runs them is ours.
  { module: /^@marcbachmann\/cel-js/, within: ["packages/server/src/policy/condition.ts"] },
  { module: /^(node:)?vm$/, within: ["packages/server/src/policy/time-limit.ts"] },
  { module: /^nodemailer(\/.+)?$/, within: ["packages/server/src/notify/send-mail.ts"] },
  // The gateway alone imports MCP. The SDK supports two versions of it and imports neither.
  {
    module: /^(@modelcontextprotocol\/|eventsource-parser)/,
    within: ["packages/mcp-gateway/"],
  },
  // Costs a start time and memory that only those should pay who use passkeys.
  { module: /^@simplewebauthn\//, within: ["packages/server/src/identity/passkeys.ts"] },
  // Each framework behind its own subpath: an agent installs the one that it has.
  { module: /^ai(\/.+)?$/, within: ["packages/sdk/src/ai.ts"] },
  {
    module: /^@anthropic-ai\/claude-agent-sdk$/,
    within: ["packages/sdk/src/claude-agent-sdk.ts"],
  },
  { module: /^@openai\/agents(\/.+)?$/, within: ["packages/sdk/src/openai-agents.ts"] },
  { module: /^(@langchain\/.+|langchain)$/, within: ["packages/sdk/src/langchain.ts"] },
  { module: /^@mastra\/.+/, within: ["packages/sdk/src/mastra.ts"] },
  // The server loads it only when telemetry is on.
  { module: /^@opentelemetry\//, within: ["packages/telemetry/"] },
  { module: /^pg(\/.+)?$/, within: ["packages/server/src/storage/postgres/"] },
];
