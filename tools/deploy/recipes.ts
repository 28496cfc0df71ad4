/**
 * Installs the server as the recipes of deploy/ do, into folders of this machine. The image is
 * built without a container engine: its files, its install stage and its environment come from the
 * Dockerfile. Steps that need root (Debian packages, users) are left out.
 */

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { delimiter, dirname, join, matchesGlob } from "node:path";
import { promisify } from "node:util";
import { ownEnvironment } from "@countersign/testing/countersign";

export const ROOT = join(import.meta.dirname, "../..");

const execute = promisify(execFile);

type Environment = Readonly<Record<string, string>>;

/** A recipe after its installation. */
export interface Installed {
  /** The folder of the checkout that runs. */
  readonly app: string;
  readonly command: readonly string[];
  readonly env: Environment;
  readonly healthCheck: readonly string[];
}

/** Copies what a fresh clone of this checkout has, or the part that a filter selects. */
export async function clone(folder: string, selects = (_: string) => true): Promise<void> {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await execute("git", args, { cwd: ROOT, maxBuffer: 2 ** 26 });
  const listed = new Set(stdout.split("\0").filter((path) => path !== "" && selects(path)));
  for (const path of listed) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path));
  }
}

/** Runs one line of a recipe. Fails with everything that it printed. */
export async function runShell(script: string, cwd: string): Promise<void> {
  const env = {
    ...ownEnvironment(),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    // npm uses the packages that `npm ci` of this checkout has downloaded.
    npm_config_prefer_offline: "true",
  };
  await execute("sh", ["-ec", script], { cwd, env, maxBuffer: 2 ** 26 });
}

/** Whether a build sends this file to the engine. The last matching line decides. */
export function isInContext(path: string, ignoreFile: string): boolean {
  const parts = path.split("/");
  const parents = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  let isIncluded = true;
  for (const line of ignoreFile.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const pattern = line.replace(/^!/, "");
    if (parents.some((parent) => matchesGlob(parent, pattern))) {
      isIncluded = line.startsWith("!");
    }
  }
  return isIncluded;
}

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** @returns the instructions of each stage, by the stage's name; the last one is "final" */
export function readStages(dockerfile: string): ReadonlyMap<string, readonly Instruction[]> {
  const lines = dockerfile.replace(/^\s*#.*\n/gm, "").replace(/\\\n/g, "");
  const stages = new Map<string, Instruction[]>();
  let current: Instruction[] = [];
  for (const [, name = "", text = ""] of lines.matchAll(/^([A-Z]+)\s+(.*)$/gm)) {
    if (name === "FROM") {
      current = [];
      stages.set(/ AS (\w+)/.exec(text)?.[1] ?? "final", current);
    } else {
      current.push({ name, text: text.trim() });
    }
  }
  return stages;
}

/** @param folder becomes the image's root folder */
export async function buildImage(folder: string): Promise<Installed> {
  const stages = readStages(readFileSync(join(ROOT, "deploy/container/Dockerfile"), "utf8"));
  const install = await runInstallStage(join(folder, "install"), stages.get("install") ?? []);
  const root = join(folder, "root");
  const env: Record<string, string> = {};
  const words: Record<string, string[]> = {};
  let workdir = "/";
  for (const { name, text } of stages.get("final") ?? []) {
    if (name === "WORKDIR") workdir = text;
    if (name === "ENV") Object.assign(env, assignments(text));
    if (name === "COPY") {
      const [, source = ""] = /^--from=install (\/\S+) \.\/$/.exec(text) ?? [];
      mkdirSync(dirname(join(root, workdir)), { recursive: true });
      renameSync(join(install, source), join(root, workdir));
    }
    if (["ENTRYPOINT", "CMD", "HEALTHCHECK"].includes(name)) {
      words[name] = JSON.parse(text.slice(text.indexOf("["))) as string[];
    }
  }
  const { ENTRYPOINT = [], CMD = [], HEALTHCHECK = [] } = words;
  // The init is a package of Debian.
  const [init, separator, ...program] = ENTRYPOINT;
  if (init !== "tini" || separator !== "--") throw new Error(`unknown init: ${init}`);
  const command = [...program, ...CMD].map((word) => word.replace(/^\/app\//, `${root}/app/`));
  const app = join(root, workdir);
  return { app, command, env, healthCheck: HEALTHCHECK };
}

async function runInstallStage(root: string, steps: readonly Instruction[]): Promise<string> {
  const ignoreFile = readFileSync(join(ROOT, ".dockerignore"), "utf8");
  let workdir = "/";
  for (const { name, text } of steps) {
    const cwd = join(root, workdir);
    if (name === "WORKDIR") workdir = text;
    else if (name === "COPY" && text === ". .") {
      await clone(cwd, (path) => isInContext(path, ignoreFile));
    } else if (name === "RUN") await runShell(text, cwd);
    else throw new Error(`unknown instruction: ${name} ${text}`);
  }
  return root;
}

export function assignments(text: string): Environment {
  const pairs = [...text.matchAll(/(?:^|\s)([A-Z_]+)=(\S*)/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

/** Runs the steps in the unit's own comment; the steps of systemd itself are left out. */
export async function installService(folder: string): Promise<Installed> {
  const unit = readFileSync(join(ROOT, "deploy/systemd/countersign.service"), "utf8");
  const app = join(folder, "opt/countersign");
  const move = (text: string): string =>
    text.replaceAll("/opt/countersign", app).replaceAll("/etc/", `${folder}/etc/`);
  const steps = [...unit.matchAll(/^# {3}(\S.*)$/gm)].map(([, step = ""]) => step);
  const [first, ...others] = steps;
  if (first !== "git clone REPOSITORY /opt/countersign") throw new Error(`unknown step: ${first}`);
  await clone(app);
  const last = others.pop();
  if (last !== "systemctl enable --now countersign") throw new Error(`unknown step: ${last}`);
  await runShell(others.map(move).join("\n"), folder);
  const installed = readFileSync(join(folder, "etc/systemd/system/countersign.service"), "utf8");
  const [, start = ""] = /^ExecStart=(.+)$/m.exec(installed) ?? [];
  const settings = readFileSync(join(folder, "etc/countersign/countersign.env"), "utf8");
  const set = [...installed.matchAll(/^Environment=(\S+)$/gm)].map(([, pair = ""]) => pair);
  const specifiers: Environment = { "%d": "etc/countersign", "%S": "state", "%C": "cache" };
  const env = assignments([...set, settings].join("\n"));
  const placed = Object.entries(env).map(([name, value]) => {
    const at = (specifier: string) => join(folder, specifiers[specifier] ?? "");
    return [name, value.replace(/%[dSC]/, at).replace("/countersign.yaml", "/secrets.yaml")];
  });
  return { app, command: move(start).split(" "), env: Object.fromEntries(placed), healthCheck: [] };
}
