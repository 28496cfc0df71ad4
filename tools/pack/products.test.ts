// Needs: frameworks
// Process: own
/**
 * The hooks, the gateway and the conformance kit are products of their own: each is installed from
 * its tarballs into an empty folder and runs there without the server.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { Child, fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import {
  CREDENTIAL,
  startEverything,
} from "../../packages/mcp-gateway/test/support/everything-over-http.ts";
import {
  connectGateway,
  EVERYTHING,
} from "../../packages/mcp-gateway/test/support/gateway-scene.ts";
import { installByNpm, installCopied } from "./install.ts";
import { PUBLISHED } from "./packages.ts";
import { pack, type Tarball } from "./stage.ts";

const owner = fileOwner();
const folder = temporaryFolder(owner, "countersign-products-");
const OWN = [
  "protocol",
  "sdk",
  "agents",
  "command-line",
  "agent-hooks",
  "mcp-gateway",
  "conformance",
];
const tarballs = pack(
  PUBLISHED.filter((each) => OWN.includes(each.folder)),
  join(folder, "tarballs"),
  join(folder, "scratch"),
);

interface Product {
  readonly install: (folder: string, tarballs: readonly Tarball[]) => void;
  /** Folders of the packages that it needs. */
  readonly needs: readonly string[];
  /** Arguments of calls, and what each prints to stdout. */
  readonly prints: readonly (readonly [args: string, stdout: RegExp])[];
}

const PRODUCTS: Readonly<Record<string, Product>> = {
  "agent-hooks": {
    install: installCopied,
    needs: ["protocol", "sdk", "agents", "command-line"],
    prints: [
      ["status", /^AGENT +HOOK/],
      ["hook claude-code", /"permissionDecision":"deny".*The agent sent no input/],
    ],
  },
  "mcp-gateway": {
    install: installCopied,
    needs: ["protocol", "sdk", "command-line"],
    prints: [["--help", /^Usage: countersign-mcp-gateway \[-- COMMAND ARGS\] \[OPTIONS\]$/m]],
  },
  conformance: {
    install: installByNpm,
    needs: ["protocol", "command-line"],
    prints: [["--list", /^cancel\.pending$/m]],
  },
};

test("[ours.packages.separate] the installed gateway serves an MCP server over stdio and HTTP", async (t) => {
  const home = join(folder, "gateway-session");
  const needed = ["protocol", "sdk", "command-line", "mcp-gateway"];
  const names = needed.map((each) => `@countersign/${each}`);
  installCopied(
    home,
    tarballs.filter((each) => names.includes(each.name)),
  );
  assert.deepEqual(readdirSync(join(home, "node_modules")), ["@countersign"]);
  const bin = join(home, "node_modules/@countersign/mcp-gateway/bin/countersign-mcp-gateway.js");
  const remote = await startEverything(t);
  const servers = {
    local: EVERYTHING,
    remote: { url: remote.url, headers: { authorization: `Bearer ${CREDENTIAL}` } },
  };
  const scene = await startAgentScene(t);
  const { client } = await connectGateway(t, scene, servers, { bin });
  const { tools } = await client.listTools();
  for (const server of Object.keys(servers)) {
    assert.ok(
      tools.some(({ name }) => name.startsWith(server)),
      server,
    );
  }
});

const SERVER_MODULES = ["fastify", "pg", "nodemailer", "openid-client", "@countersign/server"];

const OLD_NODE = `
  const versions = { ...process.versions, node: "23.11.1" };
  Object.defineProperty(process, "versions", { value: versions });
`;

function run(cwd: string, program: string, args: string, flags: readonly string[] = []) {
  const bin = join(cwd, "node_modules/@countersign", program, `bin/countersign-${program}.js`);
  const words = args === "" ? [] : args.split(" ");
  const env = { ...ownEnvironment(), HOME: cwd };
  const child = new Child(owner, [process.execPath, ...flags, bin, ...words], { env, cwd });
  return child.ends();
}

function assertPrinted({ code, stdout, stderr }: Outcome, expected: RegExp): void {
  assert.equal(code, 0, stderr);
  assert.match(stdout, expected);
}

for (const [name, { install, needs, prints }] of Object.entries(PRODUCTS)) {
  test(`[ours.packages.separate] ${name} installs and runs without the server`, async () => {
    const home = join(folder, name);
    const wanted = [...needs, name].map((each) => `@countersign/${each}`);
    install(
      home,
      tarballs.filter((each) => wanted.includes(each.name)),
    );
    for (const [args, stdout] of prints) assertPrinted(await run(home, name, args), stdout);
    assertPrinted(await run(home, name, "--version"), /^\d+\.\d+\.\d+\n$/);
    for (const module of SERVER_MODULES) {
      assert.equal(existsSync(join(home, "node_modules", module)), false, module);
    }
    const installed = readdirSync(join(home, "node_modules/@countersign")).sort();
    assert.deepEqual(installed, [...needs, name].sort());

    const pretence = ["--import", `data:text/javascript,${encodeURIComponent(OLD_NODE)}`];
    const { code, stdout, stderr } = await run(home, name, prints[0]?.[0] ?? "", pretence);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^countersign-[a-z-]+ needs Node 24 or newer; this is Node 23\..+\.\n$/);
  });
}
