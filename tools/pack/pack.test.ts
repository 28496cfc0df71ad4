// Tier: slow
// Needs: tar, frameworks
// Process: own
/**
 * Tests the packages in the form that users install: every package is packed, installed into an
 * empty project without a network, and used there on Node 24. tools/runtimes tests the SDK on other
 * runtimes.
 */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Child, fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { decode } from "@jridgewell/sourcemap-codec";
import { ROOT, TSC } from "./build.ts";
import {
  installByNpm,
  installLinked,
  installWithDependencies,
  linkDependencies,
  linkPeers,
  readManifest,
} from "./install.ts";
import { INSTALL_MEGABYTES_MAX, measureMegabytes } from "./install-size.ts";
import { lintTarball } from "./lint-tarball.ts";
import { publishedManifest } from "./manifest.ts";
import { PUBLISHED } from "./packages.ts";
import { linksSpelledOut, pack, type Tarball } from "./stage.ts";

const owner = fileOwner();
const folder = temporaryFolder(owner, "countersign-pack-");
const tarballs = pack(PUBLISHED, join(folder, "tarballs"), join(folder, "scratch"));

function tarball(name: string): Tarball {
  const found = tarballs.find((each) => each.name === name);
  assert.ok(found, name);
  return found;
}

/** Of agents: the SDK, installed by npm as they do. */
const agent = join(folder, "agent");
installByNpm(agent, [tarball("@countersign/protocol"), tarball("@countersign/sdk")]);

/** Of operators: the command, with everything that it needs. */
const operator = join(folder, "operator");
installLinked(operator, tarballs);

/** Of agents that are written with a framework, all of them at once. */
const framed = join(folder, "framed");
installLinked(framed, [tarball("@countersign/protocol"), tarball("@countersign/sdk")]);
linkPeers(framed, "@countersign/sdk");
writeFileSync(join(framed, "package.json"), JSON.stringify({ type: "module" }));

const [AGENT, EDGE, FRAMEWORKS] = ["agent.ts", "edge.ts", "frameworks.ts"];

function write(project: string, files: readonly string[]): void {
  for (const file of files) {
    cpSync(join(import.meta.dirname, "consumer", file), join(project, file));
  }
  // The types of Node are the consumer's own, from wherever it has them.
  mkdirSync(join(project, "types"));
  symlinkSync(join(ROOT, "node_modules/@types/node"), join(project, "types/node"));
}

write(agent, [AGENT, EDGE]);
write(framed, [FRAMEWORKS]);

function run(command: readonly string[], cwd: string, env = {}): Child {
  return new Child(owner, command, { cwd, env: { ...ownEnvironment(), ...env } });
}

function countersign(...args: readonly string[]): Child {
  const command = join(operator, "node_modules/countersign/bin/countersign.js");
  return run([process.execPath, command, ...args], operator);
}

interface Compilation {
  readonly files: readonly string[];
  /** The agent's, if no other is named. */
  readonly project?: string;
  readonly options: object;
}

/** Compiles into a folder of the project that has this name. */
async function compile(name: string, order: Compilation): Promise<void> {
  const { files, project = agent, options } = order;
  const config = join(project, `tsconfig.${name}.json`);
  const always = {
    target: "es2024",
    strict: true,
    skipLibCheck: false,
    typeRoots: ["./types"],
    outDir: name,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...always, ...options }, files }));
  const { code, stdout } = await run([TSC, "-p", config], project).ends();
  assert.equal(code, 0, `${name}\n${stdout}`);
}

test("[ours.packages.content] a package has modules, types, its page and license; no source, no test", () => {
  for (const { name, paths } of tarballs) {
    const modules = paths.filter((path) => /^dist\/.*\.js$/.test(path));
    assert.ok(modules.length > 0, name);
    for (const path of ["LICENSE", "README.md", "package.json"]) {
      assert.ok(paths.includes(path), `${name} has no ${path}`);
    }
    for (const path of paths) {
      assert.match(path, /^(dist\/.+|bin\/.+|LICENSE|README\.md|package\.json)$/, name);
      assert.doesNotMatch(path, /(?<!\.d)\.tsx?$|\.test\.|\/test\/|fixture|corpus/, name);
    }
  }
});

test("[ours.packages.content] a package has the declarations that an importer can reach, and no others", () => {
  const imported = /\b(?:from |import\(|import )"(\.[^"\n]*)\.js"/g;
  for (const { name, paths } of tarballs) {
    const home = join(operator, "node_modules", name);
    const { exports = {}, imports = {} } = readManifest(home);
    const needed = new Set(JSON.stringify([exports, imports]).match(/dist\/[^"*]+\.d\.ts/g));
    for (const path of needed) {
      const text = readFileSync(join(home, path), "utf8");
      for (const [, module] of text.matchAll(imported)) {
        needed.add(join(dirname(path), `${module}.d.ts`));
      }
    }
    const packed = paths.filter((path) => path.endsWith(".d.ts"));
    assert.deepEqual(packed.sort(), [...needed].sort(), name);
  }
});

test("[ours.packages.content] every file named by a package.json exists, and no entry is for the repository", () => {
  for (const { name, paths } of tarballs) {
    const manifest = readManifest(join(operator, "node_modules", name));
    const named = JSON.stringify([manifest.exports, manifest.imports, manifest.bin]);
    for (const [, path = ""] of named.matchAll(/"(?:\.\/)?((?:dist|bin)\/[^"*]+)"/g)) {
      assert.ok(paths.includes(path), `${name} has no ${path}`);
    }
    assert.doesNotMatch(named, /src\/|test\//, name);
    assert.equal(manifest.devDependencies, undefined, name);
    assert.match(JSON.stringify(manifest.engines), /"node":">=2[24]"/, name);
    for (const field of ["description", "keywords", "license", "repository", "publishConfig"]) {
      assert.ok(manifest[field], `${name} has no ${field}`);
    }
    for (const [other, version] of Object.entries(manifest.dependencies ?? {})) {
      const own = tarballs.find((each) => each.name === other);
      if (own !== undefined) assert.equal(version, manifest.version, `${name} on ${other}`);
    }
  }
});

test("[ours.packages.content] targets among the sources become built ones, and those of tests go", () => {
  const [entry] = PUBLISHED;
  assert.ok(entry);
  const source = {
    name: "one",
    version: "1.0.0",
    exports: { "./*": "./src/*.ts", "./test/*": "./test/*.ts", "./page": "./dist/page.html" },
    devDependencies: { two: "2.0.0" },
  };
  assert.deepEqual(publishedManifest(source, entry), {
    name: "one",
    version: "1.0.0",
    exports: {
      "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" },
      "./page": "./dist/page.html",
    },
    homepage: "https://github.com/countersign/countersign#readme",
    bugs: "https://github.com/countersign/countersign/issues",
    repository: {
      type: "git",
      url: "git+https://github.com/countersign/countersign.git",
      directory: "packages/protocol",
    },
    files: ["dist"],
    engines: { node: ">=22" },
    publishConfig: { access: "public", provenance: true },
  });
  const link = "See [the guide](../../docs/guides/x.md) and [us](https://example.com/).";
  const spelled =
    "See the guide (`docs/guides/x.md` in the repository) and [us](https://example.com/).";
  assert.equal(linksSpelledOut(link), spelled);
});

test("[ours.examples.twice] a copy of an agent example starts with the packages that it declares", async () => {
  const examples = join(ROOT, "examples/agents");
  for (const name of readdirSync(examples)) {
    const copy = join(folder, "examples", name);
    cpSync(join(examples, name), copy, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules"),
    });
    installLinked(copy, [tarball("@countersign/protocol"), tarball("@countersign/sdk")]);
    linkDependencies(copy);
    const { code, stderr } = await run(["npm", "start", "--silent"], copy).ends();
    assert.equal(code, 1, name);
    // Every import was found.
    assert.match(stderr, /SdkError: Missing provider URL/, name);
  }
});

test("[ours.packages.content] publint and arethetypeswrong find nothing", async () => {
  for (const { name, file } of tarballs) assert.deepEqual(await lintTarball(file), [], name);
});

test("[ours.packages.content] a source map names its source in the package and contains it", () => {
  const built = readFileSync(
    join(agent, "node_modules/@countersign/sdk/dist/result.js.map"),
    "utf8",
  );
  const { sources, sourcesContent } = JSON.parse(built) as Record<string, readonly string[]>;
  assert.deepEqual(sources, ["../src/result.ts"]);
  assert.deepEqual(sourcesContent, [
    readFileSync(join(ROOT, "packages/sdk/src/result.ts"), "utf8"),
  ]);
});

test("[ours.packages.content] a stack trace names the line of the TypeScript source", async () => {
  const script =
    'import { ApprovalClient } from "@countersign/sdk"; new ApprovalClient({ url: "localhost" });';
  const args = ["--enable-source-maps", "--input-type=module", "--eval", script];
  const { stderr } = await run([process.execPath, ...args], agent).ends();
  const [, file = "", line] =
    /node_modules\/@countersign\/sdk\/(src\/[a-z-]+\.ts):(\d+)/.exec(stderr) ?? [];
  const source = readFileSync(join(ROOT, "packages/sdk", file), "utf8");
  assert.match(source.split("\n")[Number(line) - 1] ?? "", /throw new SdkError/);
});

test("[ours.packages.content] the joined modules of the server name the lines of their sources", () => {
  const dist = join(operator, "node_modules/@countersign/server/dist");
  const lines = readFileSync(join(dist, "index.js"), "utf8").split("\n");
  const map = JSON.parse(readFileSync(join(dist, "index.js.map"), "utf8")) as {
    readonly mappings: string;
    readonly sources: readonly string[];
    readonly sourcesContent: readonly string[];
  };
  const mappings = decode(map.mappings);
  // Of modules in folders; the first one finds its assets from its folder.
  const marks = {
    "storage/read-migrations.ts": /^const DIRECTORY = join\(/,
    "timer-loop.ts": /\bTimerLoop = class/,
    "http/authzen-routes.ts": /^function refusalOf\(/,
  };
  for (const [source, mark] of Object.entries(marks)) {
    const at = lines.findIndex((line) => mark.test(line));
    const [, index = -1, line = -1] = mappings[at]?.[0] ?? [];
    assert.equal(map.sources[index], `../src/${source}`);
    const text = readFileSync(join(ROOT, "packages/server/src", source), "utf8");
    assert.equal(map.sourcesContent[index], text);
    const [word = ""] = /DIRECTORY|TimerLoop|refusalOf/.exec(lines[at] ?? "") ?? [];
    assert.match(text.split("\n")[line] ?? "", new RegExp(word));
  }
});

for (const [name, megabytesMax] of Object.entries(INSTALL_MEGABYTES_MAX)) {
  test(`[ours.packages.size] ${name} takes less than ${megabytesMax} MB`, (t) => {
    const home = join(folder, `size-${name.replaceAll("/", "-")}`);
    installWithDependencies(home, name, tarballs);
    const megabytes = measureMegabytes(home);
    t.diagnostic(`${name}: ${megabytes.toFixed(1)} MB`);
    assert.ok(megabytes < megabytesMax, `${megabytes} MB`);
  });
}

test("[ours.packages.agent] the SDK brings the protocol to an agent and nothing else", () => {
  const home = join(agent, "node_modules");
  const names = readdirSync(home).filter((name) => !name.startsWith("."));
  assert.deepEqual(names, ["@countersign"]);
  assert.deepEqual(readdirSync(join(home, "@countersign")).sort(), ["protocol", "sdk"]);
});

const WEB = ["es2024", "dom", "dom.iterable"];

test("[ours.packages.types] an agent in TypeScript compiles against what is installed", async () => {
  for (const moduleResolution of ["node16", "nodenext", "bundler"]) {
    const module = moduleResolution === "bundler" ? "esnext" : moduleResolution;
    for (const exactOptionalPropertyTypes of [true, false]) {
      const rule = { module, moduleResolution, exactOptionalPropertyTypes };
      const name = `${moduleResolution}-${exactOptionalPropertyTypes}`;
      const options = { ...rule, lib: ["es2024"], types: ["node"] };
      await compile(name, { options, files: [AGENT, EDGE] });
    }
  }
});

test("[ours.packages.types] the core of the SDK compiles with the types of the web alone", async () => {
  const options = { module: "esnext", moduleResolution: "bundler", lib: WEB, types: [] };
  await compile("web", { options, files: [EDGE] });
});

test("[ours.packages.types] the subpaths of the SDK compile and load beside their frameworks", async () => {
  const rule = { module: "nodenext", exactOptionalPropertyTypes: true, lib: WEB, types: ["node"] };
  // The frameworks' own types do not pass a check of theirs.
  const options = { ...rule, skipLibCheck: true };
  await compile("out", { options, project: framed, files: [FRAMEWORKS] });
  const { code, stdout, stderr } = await run(
    [process.execPath, "out/frameworks.js"],
    framed,
  ).ends();
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "6\n");
});

interface Listed {
  readonly requests: readonly { readonly id: string; readonly arguments_sha256: string }[];
}

interface Checked {
  readonly findings: readonly { readonly line?: number }[];
}

/** As an operator sets it up, with the command that was installed. */
async function startProvider() {
  const data = join(folder, "data");
  const server = countersign("serve", "--port", "0", "--data", data, "--json");
  const started = /"event":"server\.started","address":"([^"]+)"/;
  const [, url = ""] = await server.prints("stdout", started);
  const token = async (kind: string, ...args: string[]) => {
    const order = ["tokens", "create", kind, "--name", kind, "--data", data, ...args];
    const { code, stdout, stderr } = await countersign(...order).ends();
    assert.equal(code, 0, stderr);
    return /cs_\w+/.exec(stdout)?.[0] ?? assert.fail(stdout);
  };
  const provisioner = await token("provisioner");
  const reviewer = await token("reviewer", "--role", "admin");
  const review = async <T>(path: string, body?: object) => {
    const headers = { authorization: `Bearer ${reviewer}`, "content-type": "application/json" };
    const post = body && { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}/review/v1/${path}`, { headers, ...post });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  return { server, url, provisioner, review };
}

type InstalledProvider = Awaited<ReturnType<typeof startProvider>>;

/** Runs the compiled agent, whose first call is approved and whose second is denied. */
async function playAgent({ url, provisioner, review }: InstalledProvider): Promise<Outcome> {
  const home = join(folder, "home");
  const env = { FOLDER: home, PROVIDER_URL: url, PROVISIONER_TOKEN: provisioner };
  const running = run([process.execPath, "nodenext-true/agent.js"], agent, env);
  let outcome: Outcome | undefined;
  const ended = running.ends().then((how) => {
    outcome = how;
    return how;
  });
  for (const verdict of ["approve", "deny"]) {
    const request = await eventually("a request that is pending", async () => {
      assert.equal(outcome, undefined, outcome?.stderr);
      return (await review<Listed>("requests?state=pending")).requests[0];
    });
    const { id, arguments_sha256 } = request;
    await review(`requests/${id}/verdict`, { verdict, arguments_sha256 });
  }
  return ended;
}

test("[ours.packages.operator] the installed command knows what it can ask a provider", async () => {
  const { code, stdout, stderr } = await countersign("conformance", "--list").ends();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^cancel\.pending$/m);
});

test("[ours.packages.agent][ours.packages.operator] an installed agent is held and decided by an installed server", async () => {
  const provider = await startProvider();
  const { code, stdout, stderr } = await playAgent(provider);
  assert.equal(code, 0, stderr);
  const [ran, denied = "", again = "", received] = stdout.split("\n");
  assert.equal(ran, "9007199254740993 back for A-1");
  assert.match(denied, /^denied: This call was denied/);
  assert.match(again, /^already_used: /);
  assert.equal(received, "function 400");
  // Files other than modules, found by a path: the description, pages, the console.
  for (const [path, content] of [
    ["openapi.yaml", /^openapi: 3\.1/],
    ["sign-in", /<html/],
    ["inbox", /<html/],
    ["history", /assets\/index-\S+\.js/],
  ] as const) {
    const response = await fetch(`${provider.url}/${path}`);
    assert.equal(response.status, 200, path);
    assert.match(await response.text(), content, path);
  }
  // In a thread, which has an entry of its own.
  const source = "version: 1\nrules:\n  - id: one\n    then: perhaps\n";
  const { findings } = await provider.review<Checked>("policy/check", { source });
  assert.equal(findings[0]?.line, 4);
  assert.equal((await provider.server.end("SIGTERM")).code, 0);
});
