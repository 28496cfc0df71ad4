/**
 * Clients that others wrote, as their registries hand them out: the Python package into an
 * environment of its own, the Go command into a folder of its own. A missing one is reported with
 * the message of the command that failed; a wheel other than the pinned one is a failure.
 */

import { spawn } from "node:child_process";
import { join } from "node:path";

const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");

const FRAMEWORKS = join(import.meta.dirname, "requirements-frameworks.txt");

export const PYTHON_PACKAGE = "agentapprovalprotocol 0.3.3";

/** The release that the protocol's own pages name. */
export const GO_COMMAND = "github.com/agentapprovalprotocol/agentapprovalprotocol/cmd/aap@v0.1.0";

/** The least that the pinned wheels run on. */
const PYTHON_LEAST = [3, 11] as const;

/** Enough of what a failed command said for its cause. */
const LINES_KEPT = 4;

export type Obtained =
  | { readonly kind: "had"; readonly program: string }
  | { readonly kind: "absent"; readonly reason: string }
  | { readonly kind: "wrong"; readonly reason: string };

interface Ran {
  /** Undefined: it could not be started, or not be finished in time. */
  readonly code: number | undefined;
  readonly output: string;
}

/** @param requirements a file that pins what is installed, with hashes */
export async function obtainPython(
  folder: string,
  signal: AbortSignal,
  requirements = REQUIREMENTS,
): Promise<Obtained> {
  const version = await run("python3", ["-c", "import sys; print(*sys.version_info[:2])"], signal);
  const fault = pythonFault(version);
  if (fault !== undefined) return { kind: "absent", reason: fault };
  const environment = join(folder, "python");
  const program = join(environment, "bin", "python");
  // A pip that is there installs into the environment; to give it its own takes many seconds.
  const hasPip = (await run("python3", ["-m", "pip", "--version"], signal)).code === 0;
  const made = await run(
    "python3",
    ["-m", "venv", ...(hasPip ? ["--without-pip"] : []), environment],
    signal,
  );
  if (made.code !== 0) return judgeInstall(made, "python3 -m venv");
  const options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
  // pip would try for minutes where there is no network.
  const patience = ["--retries", "1", "--timeout", "15", "--disable-pip-version-check"];
  const install = ["install", ...options, ...patience, "-r", requirements];
  const installed = hasPip
    ? await run("python3", ["-m", "pip", "--python", program, ...install], signal)
    : await run(program, ["-m", "pip", ...install], signal);
  if (installed.code !== 0) return judgeInstall(installed, "pip install");
  return { kind: "had", program };
}

/**
 * Frameworks, beside the package.
 *
 * @param program the interpreter that {@link obtainPython} gave
 * @param requirements a file that pins what is installed
 */
export async function obtainFrameworks(
  program: string,
  signal: AbortSignal,
  requirements = FRAMEWORKS,
): Promise<Obtained> {
  const options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"];
  const patience = ["--retries", "1", "--timeout", "15"];
  const install = ["install", ...options, ...patience, "-r", requirements];
  const hasPip = (await run("python3", ["-m", "pip", "--version"], signal)).code === 0;
  const installed = hasPip
    ? await run("python3", ["-m", "pip", "--python", program, ...install], signal)
    : await run(program, ["-m", "pip", ...install], signal);
  return installed.code === 0
    ? { kind: "had", program }
    : judgeInstall(installed, "pip install of the frameworks");
}

export async function obtainGo(folder: string, signal: AbortSignal): Promise<Obtained> {
  const bin = join(folder, "go-bin");
  const installed = await run("go", ["install", GO_COMMAND], signal, { GOBIN: bin });
  if (installed.code !== 0) return judgeInstall(installed, `go install ${GO_COMMAND}`);
  return { kind: "had", program: join(bin, "aap") };
}

/** @param ran what `python3` said of its version, like `3 11` */
export function pythonFault({ code, output }: Ran): string | undefined {
  if (code !== 0) return `there is no python3: ${lastLines(output)}`;
  const [major = 0, minor = 0] = output.trim().split(" ").map(Number);
  const [leastMajor, leastMinor] = PYTHON_LEAST;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return `python3 is ${major}.${minor}; the pinned wheels need ${PYTHON_LEAST.join(".")}`;
}

/** Of an installation that has failed: was it not to be had, or is it not what was pinned? */
export function judgeInstall({ code, output }: Ran, command: string): Obtained {
  const lastOutput = lastLines(output);
  if (/DO NOT MATCH THE HASHES|checksum mismatch|SECURITY ERROR/.test(output)) {
    return { kind: "wrong", reason: `${command}: ${lastOutput}` };
  }
  const how = code === undefined ? "did not run, or not to its end in time" : `ended with ${code}`;
  return { kind: "absent", reason: `${command} ${how}:\n${lastOutput}` };
}

function lastLines(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-LINES_KEPT).join("\n") || "(it said nothing)";
}

function run(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const options = { env: { ...process.env, ...env }, signal, killSignal: "SIGKILL" } as const;
  const child = spawn(command, args, { ...options, stdio: [...stdio] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  child.on("error", (error) => resolve({ code: undefined, output: `${output}\n${error.message}` }));
  child.on("close", (code) => resolve({ code: code ?? undefined, output }));
  return promise;
}
