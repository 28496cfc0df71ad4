/**
 * The command of a hook on Windows, and the batch file that it starts.
 *
 * The command has no quotes and no operators, because the same text must work in PowerShell and
 * `cmd.exe`. Some agents use either shell, and PowerShell replaces exit code 2 by 1. So the batch
 * file exits with 0, and every failure of the hook prints a denial.
 *
 * Pure.
 */

import { ANSWERED } from "../hook/answered.ts";
import { failureReason, type HookPlace, hookWords } from "./hook-place.ts";

/** Node and OpenSSL load code or trust from these variables. */
const LOADING = "NODE_OPTIONS NODE_COMPILE_CACHE NODE_EXTRA_CA_CERTS OPENSSL_CONF SSL_CERT_FILE";

/** @param systemRoot the folder of Windows */
export function launcherCommand(systemRoot: string, file: string): string {
  return `${cmdOf(systemRoot)} /d /c ${file}`;
}

/** The batch file, beside the profile. */
export function launcherFile(profile: string, agent: string): string {
  return `${profile.replace(/\.json$/, "")}${suffixOf(agent)}`;
}

export function isLauncherCommand(command: string, agent: string): boolean {
  return command.endsWith(suffixOf(agent));
}

function suffixOf(agent: string): string {
  return `.countersign-hook.${agent}.cmd`;
}

/** @throws Error: a path has a character that one of the shells would change */
export function assertLaunchable(place: HookPlace, systemRoot: string): void {
  const file = launcherFile(place.profile, place.agent);
  if (!/^[a-z]:\\[\w.~\\-]+$/i.test(file)) {
    const advice = "Give the short name of its folder with --profile. The command dir /x shows it.";
    throw new Error(`The path ${file} contains a space or a special character. ${advice}`);
  }
  const { node, script, home, caFile = "" } = place;
  for (const path of [node, script, home, caFile, systemRoot]) {
    if (/^[ -~]*$/.test(path) && !path.includes('"')) continue;
    throw new Error(`The path ${path} contains characters outside ASCII. Use another folder.`);
  }
  if (place.environment) throw new Error("--environment is not possible on Windows.");
}

/**
 * The hook exits with ANSWERED after an answer. Exit code 0 is not enough: an empty script also
 * exits with 0.
 *
 * @param denied prints the denial
 */
export function launcherText(
  place: HookPlace,
  denied: (reason: string) => string,
  systemRoot: string,
): string {
  const words = [...hookWords(place), "--launched"];
  const variables = [
    `SystemRoot=${systemRoot}`,
    `USERPROFILE=${place.home}`,
    `PATH=${systemRoot}\\System32`,
  ];
  if (place.caFile !== undefined) variables.push(`NODE_EXTRA_CA_CERTS=${place.caFile}`);
  const lines = [
    "@echo off",
    `rem Written by Countersign. Remove it with: ${place.program} uninstall ${place.agent}`,
    "setlocal EnableExtensions DisableDelayedExpansion",
    // The next lines start it to list all variables. It stops at a line that is too long, so the
    // variables that load code are cleared first.
    `set "ComSpec=${cmdOf(systemRoot)}"`,
    `for %%v in (${LOADING}) do set "%%v="`,
    `for /f "delims==" %%v in ('set') do set "%%v="`,
    ...variables.map((variable) => `set "${escapePercent(variable)}"`),
    // cmd.exe reads a block as a whole. It reads other lines when it runs them, and the file may be
    // replaced while the hook waits.
    "(",
    `  ${words.map((word) => `"${escapePercent(word)}"`).join(" ")}`,
    `  if errorlevel ${ANSWERED} if not errorlevel ${ANSWERED + 1} exit /b 0`,
    `  echo ${denied(failureReason(place))}`,
    "  exit /b 0",
    ")",
  ];
  return lines.map((line) => `${line}\r\n`).join("");
}

function cmdOf(systemRoot: string): string {
  return `${systemRoot}\\System32\\cmd.exe`;
}

/** In a batch file, `%` starts the name of a variable. */
function escapePercent(text: string): string {
  return text.replaceAll("%", "%%");
}
