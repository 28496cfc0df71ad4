/**
 * `npm run schemathesis -- --examples 50`: contract/openapi.yaml against a running server, by a
 * fuzzer that others wrote, with all of its checks. Installs what requirements.txt pins into a
 * scratch folder, and ends with 1 when Schemathesis has found something.
 *
 * Without Python or a registry nothing is tried: the last line says so, loudly, and the exit code
 * is 0 unless `--require` is given.
 *
 * Called by: people, and .ci/run with few examples. Somebody decides whatever waits, so no poll is
 * held for long.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { obtainPython } from "../interop/obtain.ts";
import { setStage } from "../interop/stage.ts";

const HERE = import.meta.dirname;
const INSTALL_MS_MAX = 120_000;

/** Otherwise most of what is tried were answered with 429. */
const UNBOUNDED = {
  COUNTERSIGN_INSTANCE_RATE: "0",
  COUNTERSIGN_ACCOUNT_SUBMISSION_RATE: "0",
  COUNTERSIGN_PROVISIONER_RATE: "0",
  COUNTERSIGN_REVIEWER_RATE: "0",
  COUNTERSIGN_UNAUTHENTICATED_RATE: "0",
};

const { values } = parseArgs({
  options: {
    examples: { type: "string", default: "50" },
    phases: { type: "string", default: "examples,coverage,fuzzing,stateful" },
    seed: { type: "string" },
    seconds: { type: "string" },
    require: { type: "boolean", default: false },
  },
});

const folder = await mkdtemp(join(tmpdir(), "countersign-schemathesis-"));
try {
  const requirements = join(HERE, "requirements.txt");
  const installing = AbortSignal.timeout(INSTALL_MS_MAX);
  const obtained = await obtainPython(folder, installing, requirements);
  if (obtained.kind === "had") {
    process.exitCode = await run(obtained.program);
  } else {
    console.log(`\nNOT TRIED: Schemathesis cannot be had here:\n${obtained.reason}`);
    process.exitCode = obtained.kind === "wrong" || values.require ? 1 : 0;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
// What pip started and was not let finish may hold our output.
process.exit();

/** @returns the exit code of Schemathesis */
async function run(python: string): Promise<number> {
  const over = new AbortController();
  const stage = await setStage(join(folder, "server"), over.signal, "", UNBOUNDED);
  // So that polls of what waits end, and every kind of answer is seen.
  const deciding = stage.decideAll(over.signal);
  try {
    const { seed, seconds } = values;
    const args = [
      "-m",
      "schemathesis.cli",
      "--config-file",
      join(HERE, "schemathesis.toml"),
      "run",
      join(HERE, "../../contract/openapi.yaml"),
      "--url",
      stage.url,
      "--no-color",
      "--phases",
      values.phases,
      "--max-examples",
      values.examples,
      "--continue-on-failure",
      ...(seed === undefined ? [] : ["--seed", seed]),
      ...(seconds === undefined ? [] : ["--max-time", seconds]),
    ];
    const env = {
      ...process.env,
      PROVISIONER_TOKEN: stage.provisionerToken,
      INSTANCE_TOKEN: await stage.newInstance(),
    };
    const child = spawn(python, args, {
      env,
      cwd: folder,
      stdio: ["ignore", "inherit", "inherit"],
    });
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } finally {
    over.abort();
    await deciding;
    await stage.stop();
  }
}
