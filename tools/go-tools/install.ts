/**
 * Installs the programs and schemas of tools.ts into an ignored folder: `npm run go-tools`.
 * Needs Go and the Go module proxy. A second run with the same versions changes nothing.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import {
  customResourceSchemas,
  type JsonSchema,
  kubernetesSchemas,
} from "../kubernetes/schemas.ts";
import {
  CUSTOM_RESOURCES,
  findGoTools,
  installationId,
  KUBERNETES_VERSIONS,
  MODULES,
  moduleOf,
  PACKAGES,
  toolsIn,
} from "./tools.ts";

const HOME = resolve(import.meta.dirname, "installed");

function go(args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const ended = spawnSync("go", args, {
    cwd: HOME,
    encoding: "utf8",
    env: { ...process.env, GOFLAGS: "", GO111MODULE: "on", GOWORK: "off", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (ended.error !== undefined) {
    const reason = "Could not run go. Install Go 1.26 or newer: https://go.dev/dl";
    throw new Error(reason, { cause: ended.error });
  }
  if (ended.status === 0) return ended.stdout;
  throw new Error(`go ${args.join(" ")} failed:\n${ended.stderr}${ended.stdout}`);
}

/** @returns the folder with the files of a module */
function download(module: string): string {
  const { Dir } = JSON.parse(go(["mod", "download", "-json", module])) as { readonly Dir: string };
  return Dir;
}

function writeSchemas(folder: string, schemas: Iterable<readonly [string, JsonSchema]>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, schema] of schemas) {
    writeFileSync(join(folder, name), JSON.stringify(schema));
  }
}

function install(): void {
  const tools = toolsIn(HOME);
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(HOME, { recursive: true });
  for (const program of PACKAGES) {
    console.log(`Building ${program}`);
    // Without the tables of a debugger.
    go(["install", "-ldflags=-s -w", program], { GOBIN: dirname(tools.program("helm")) });
  }
  for (const name of MODULES) {
    console.log(`Building tools/go-tools/${name}`);
    go(["build", "-C", moduleOf(name), "-o", tools.program(name), "."]);
  }
  for (const version of KUBERNETES_VERSIONS) {
    console.log(`Reading the schemas of Kubernetes ${version}`);
    const file = join(download(`k8s.io/kubernetes@v${version}`), "api/openapi-spec/swagger.json");
    const schemas = kubernetesSchemas(JSON.parse(readFileSync(file, "utf8")));
    writeSchemas(join(tools.schemas, `v${version}`), schemas);
  }
  for (const { module, file } of CUSTOM_RESOURCES) {
    console.log(`Reading ${file}`);
    const definition = parse(readFileSync(join(download(module), file), "utf8"));
    writeSchemas(join(tools.schemas, "custom"), customResourceSchemas(definition));
  }
  writeFileSync(tools.marker, installationId());
}

if (findGoTools(HOME) === undefined) install();
