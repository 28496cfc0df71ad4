/**
 * `npm run schemathesis -- --examples 50`: runs Schemathesis with all of its checks on
 * contract/openapi.yaml and contract/review.openapi.yaml, against a running server. Installs what
 * requirements.txt pins into a scratch folder. Exits with 1 when Schemathesis finds a failure.
 *
 * Without Python or a package registry nothing runs: the last line says so, and the exit code is 0
 * unless `--require` is given.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exchange } from "../demo/adapter.ts";
import { countersign } from "../demo/countersign.ts";
import { obtainPython } from "../interop/obtain.ts";
import { type Stage, setStage } from "../interop/stage.ts";
import { seedReview } from "./seed.ts";

const HERE = import.meta.dirname;
const INSTALL_MS_MAX = 120_000;

/** Without it, the server would answer most exchanges with 429. */
const UNBOUNDED = {
  COUNTERSIGN_INSTANCE_RATE: "0",
  COUNTERSIGN_ACCOUNT_SUBMISSION_RATE: "0",
  COUNTERSIGN_PROVISIONER_RATE: "0",
  COUNTERSIGN_REVIEWER_RATE: "0",
  COUNTERSIGN_UNAUTHENTICATED_RATE: "0",
};

const DESCRIPTIONS = { provider: "openapi.yaml", review: "review.openapi.yaml" };

type Api = keyof typeof DESCRIPTIONS;

const { values } = parseArgs({
  options: {
    /** `provider` or `review`; both by default. */
    api: { type: "string" },
    examples: { type: "string", default: "50" },
    phases: { type: "string", default: "examples,coverage,fuzzing,stateful" },
    seed: { type: "string" },
    seconds: { type: "string" },
    require: { type: "boolean", default: false },
  },
});

if (values.api !== undefined && !Object.hasOwn(DESCRIPTIONS, values.api)) {
  console.error(`--api must be one of: ${Object.keys(DESCRIPTIONS).join(", ")}`);
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), "countersign-schemathesis-"));
try {
  const requirements = join(HERE, "requirements.txt");
  const installing = AbortSignal.timeout(INSTALL_MS_MAX);
  const obtained = await obtainPython(folder, installing, requirements);
  if (obtained.kind === "had") {
    process.exitCode = await run(obtained.program);
  } else {
    console.log(`\nNOT TESTED: could not install Schemathesis:\n${obtained.reason}`);
    process.exitCode = obtained.kind === "wrong" || values.require ? 1 : 0;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
// A pip that did not finish in time may keep the output open.
process.exit();

/** @returns the greater of the two exit codes */
async function run(python: string): Promise<number> {
  const ended = new AbortController();
  const data = join(folder, "server");
  const stage = await setStage(data, ended.signal, "", UNBOUNDED);
  try {
    const env = await credentials(stage, join(data, "data"));
    const codes: number[] = [];
    if (values.api !== "review") codes.push(await runProvider(python, stage, env));
    if (values.api !== "provider") codes.push(await runReview(python, stage, env));
    return Math.max(...codes);
  } finally {
    ended.abort();
    await stage.stop();
  }
}

/** A reviewer approves and denies pending requests in turn, so that polls end soon. */
async function runProvider(python: string, stage: Stage, env: Credentials): Promise<number> {
  const ended = new AbortController();
  const deciding = stage.decideAll(ended.signal);
  try {
    return await runSchemathesis(python, "provider", stage.url, env);
  } finally {
    ended.abort();
    await deciding;
  }
}

async function runReview(python: string, stage: Stage, env: Credentials): Promise<number> {
  const ids = await seedReview(stage.url, env.INSTANCE_TOKEN, env.REVIEWER_TOKEN);
  const dictionaries = Object.entries(ids).map(
    ([name, values]) => `\n[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}\n`,
  );
  return await runSchemathesis(python, "review", stage.url, env, dictionaries.join(""));
}

type Credentials = Awaited<ReturnType<typeof credentials>>;

/** The variables that the configurations read from the environment. */
async function credentials(stage: Stage, data: string) {
  const operator = ["--name", "operator", "--role", "operator"];
  const reviewer = await countersign(["tokens", "create", "reviewer", ...operator, "--data", data]);
  return {
    PROVISIONER_TOKEN: stage.provisionerToken,
    INSTANCE_TOKEN: await stage.newInstance(),
    REVIEWER_TOKEN: reviewer,
    SESSION: await signIn(stage.url, reviewer),
  };
}

/** @returns the cookie of a new user with the role admin */
async function signIn(url: string, reviewer: string): Promise<string> {
  const order = { key: "invitation", body: { name: "user", role: "admin" } };
  const path = "/review/v1/invitations";
  const invitation = await exchange<{ readonly url: string }>(url, path, reviewer, order);
  const token = new URL(invitation.url).hash.slice(1);
  const body = { token, login: "user", name: "user", password: "correct horse battery staple" };
  const answer = await fetch(`${url}/review/v1/invitation/use`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify(body),
  });
  const cookie = /=([^;]+)/.exec(answer.headers.get("set-cookie") ?? "")?.[1];
  if (cookie === undefined) throw new Error(`could not sign in: ${await answer.text()}`);
  return cookie;
}

/**
 * @param settings appended to the configuration of the API
 * @returns the exit code of Schemathesis
 */
async function runSchemathesis(
  python: string,
  api: Api,
  url: string,
  env: Credentials,
  settings = "",
): Promise<number> {
  const { seed, seconds } = values;
  const config = join(folder, `${api}.toml`);
  await writeFile(config, (await readFile(join(HERE, `${api}.toml`), "utf8")) + settings);
  const args = [
    "-m",
    "schemathesis.cli",
    "--config-file",
    config,
    "run",
    join(HERE, "../../contract", DESCRIPTIONS[api]),
    "--url",
    url,
    "--no-color",
    "--phases",
    values.phases,
    "--max-examples",
    values.examples,
    "--continue-on-failure",
    ...(seed === undefined ? [] : ["--seed", seed]),
    ...(seconds === undefined ? [] : ["--max-time", seconds]),
  ];
  const child = spawn(python, args, {
    env: { ...process.env, ...env },
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
