/** Finds the server that uses a data folder. */

import { publicUrlOf, readServerFile, type ServerFile, type Settings } from "@countersign/server";

const ANSWER_MS_MAX = 2_000;

export type Addresses = Omit<ServerFile, "process">;

/** @returns undefined when no server uses the folder, or it does not answer */
export async function findRunningServer(dataDirectory: string): Promise<Addresses | undefined> {
  const { process: id, url, publicUrl, contractUrl } = readServerFile(dataDirectory) ?? {};
  if (url === undefined || publicUrl === undefined || contractUrl === undefined) return undefined;
  // A busy server answers late. Commands in another container do not see its process.
  const isRunning = isAlive(id) || (await isCountersign(url));
  return isRunning ? { url, publicUrl, contractUrl } : undefined;
}

function isAlive(id: number | undefined): boolean {
  try {
    return id !== undefined && process.kill(id, 0);
  } catch {
    return false;
  }
}

/** The addresses that a server with these settings has. */
export function addressesOf(settings: Settings): Addresses {
  const publicUrl = publicUrlOf(settings);
  return { url: publicUrl, publicUrl, contractUrl: publicUrl + settings.pathPrefix };
}

/** Whether a Countersign server answers at this address. */
export async function isCountersign(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(`${url}/manifest.webmanifest`, { signal, redirect: "error" });
    return response.ok && (await response.text()).includes('"Countersign"');
  } catch {
    return false;
  }
}
