/**
 * Programs that some tests need besides Node. A machine without them still runs all other tests:
 * run-tests.ts leaves out the files that name a missing program, and lists them at the end. With
 * COUNTERSIGN_TEST_COMPLETE=yes, as in .ci, a missing program fails the run.
 */

import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { findCodingAgents } from "@countersign/testing/coding-agents";
import { linkFrameworks } from "../frameworks/link.ts";
import { findGoTools } from "../go-tools/tools.ts";
import { findRuntimes } from "../runtimes/find-runtimes.ts";
import { findBrowser } from "./browser.ts";

/** The packages of Debian and Ubuntu that have them. */
const PACKAGES: Readonly<Record<string, string>> = {
  bash: "bash",
  browser: "chromium",
  "browser with notifications": "chromium",
  caddy: "caddy",
  curl: "curl",
  git: "git",
  nginx: "nginx-light",
  openssl: "openssl",
  pgbouncer: "pgbouncer",
  prlimit: "util-linux",
  promtool: "prometheus",
  ps: "procps",
  python3: "python3-venv",
  "redis-server": "redis-server",
  rsyslogd: "rsyslog",
  script: "bsdutils",
  tar: "tar",
};

/** The programs of releases that Debian does not have. */
const BY_RELEASE: Readonly<Record<string, string>> = {
  otelcol: "dpkg -i otelcol_VERSION_linux_amd64.deb (opentelemetry-collector-releases)",
};

/** The programs that an npm script installs, with the command. */
const BY_NPM: Readonly<Record<string, string>> = {
  "coding-agents": "npm run coding-agents",
  frameworks: "npm run frameworks",
  "go-tools": "npm run go-tools",
  runtimes: "npm run runtimes",
};

/** Programs of the system are not always on the PATH of a user. */
const MORE_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

export function findProgram(name: string, path = process.env.PATH ?? ""): string | undefined {
  const folders = [...path.split(delimiter), ...(path === "" ? [] : MORE_FOLDERS)];
  const files = folders.filter((folder) => folder !== "").map((folder) => join(folder, name));
  return files.find(isExecutable);
}

export interface Missing {
  readonly program: string;
  /** A command that installs it. */
  readonly install: string;
}

/** @throws Error for a program without a row in the table above */
export function findMissing(programs: Iterable<string>): Missing[] {
  const missing: Missing[] = [];
  for (const program of new Set(programs)) {
    const install = installCommand(program);
    if (install === undefined) throw new Error(`tools/test-run/programs.ts has no "${program}".`);
    if (!isThere(program)) missing.push({ program, install });
  }
  return missing;
}

function installCommand(program: string): string | undefined {
  const debian = PACKAGES[program];
  if (debian === undefined) return BY_NPM[program] ?? BY_RELEASE[program];
  return `apt-get install --no-install-recommends ${debian}`;
}

function isThere(program: string): boolean {
  if (program === "frameworks") return linkFrameworks();
  if (program === "coding-agents") return findCodingAgents() !== undefined;
  if (program === "go-tools") return findGoTools() !== undefined;
  if (program === "runtimes") return findRuntimes() !== undefined;
  if (program === "browser") return findBrowser() !== undefined;
  if (program === "browser with notifications") {
    return findBrowser({ notifications: true }) !== undefined;
  }
  return findProgram(program) !== undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
