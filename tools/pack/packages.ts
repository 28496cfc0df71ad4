/**
 * The packages that people install, in the order in which they build on one another.
 */

export interface PublishedPackage {
  /** Its folder under packages/. */
  readonly folder: string;
  /** The supported Node versions, which are also the build target. */
  readonly node: ">=22" | ">=24";
  /** Files other than modules: from folders of the repository to where modules look for them. */
  readonly assets: readonly Asset[];
  /** Dependencies that the published package contains in part, instead of depending on them. */
  readonly bundled?: readonly string[];
  /** True: the package contains few files with all of its modules, which load faster. */
  readonly isJoined?: boolean;
}

export interface Asset {
  readonly from: string;
  /** Under dist; a file keeps its name. */
  readonly to: string;
  readonly names: RegExp;
}

export const PUBLISHED: readonly PublishedPackage[] = [
  { folder: "protocol", node: ">=22", assets: [] },
  { folder: "sdk", node: ">=22", assets: [] },
  { folder: "agents", node: ">=24", isJoined: true, assets: [] },
  { folder: "command-line", node: ">=24", isJoined: true, assets: [] },
  {
    folder: "agent-hooks",
    node: ">=24",
    assets: [{ from: "packages/agent-hooks/dist", to: ".", names: /\.cjs$/ }],
    // It takes 1.4 MB, of which install and doctor use a small part.
    bundled: ["yaml"],
  },
  {
    folder: "mcp-gateway",
    node: ">=24",
    assets: [],
    // The SDK needs Hono, Express, Ajv and Zod: 14 MB, of which the gateway uses 0.4 MB.
    bundled: ["@modelcontextprotocol/sdk", "eventsource-parser", "jose", "oauth4webapi"],
  },
  { folder: "conformance", node: ">=24", assets: [] },
  { folder: "telemetry", node: ">=24", assets: [] },
  { folder: "review-api", node: ">=24", isJoined: true, assets: [] },
  {
    folder: "console",
    node: ">=24",
    assets: [{ from: "packages/console/dist", to: ".", names: /./ }],
  },
  {
    folder: "server",
    node: ">=24",
    isJoined: true,
    assets: [
      { from: "packages/server/src/storage/migrations", to: "storage/migrations", names: /\.sql$/ },
      { from: "contract", to: "contract", names: /^(review\.)?openapi\.yaml$/ },
    ],
  },
  {
    folder: "cli",
    node: ">=24",
    isJoined: true,
    assets: [{ from: "examples/policies", to: "policies", names: /\.yaml$/ }],
  },
];
