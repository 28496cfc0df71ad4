/**
 * API keys that change while the program runs: from a function or a file.
 */

import { readToken } from "./base-url.ts";
import { SdkError } from "./errors.ts";

/** Why the SDK needs an API key. */
export interface ApiKeyRequest {
  /** The key that the provider has just rejected with 401; undefined otherwise. */
  readonly refused?: string | undefined;
}

/**
 * Returns the current API key. The SDK calls it before each attempt, and once more after a 401. It
 * retries if the function throws an SdkError `unavailable`.
 */
export type ApiKeySource = (request: ApiKeyRequest) => string | Promise<string>;

/** The part of Node's file system that the SDK needs. */
interface FileSystem {
  readFileSync(path: string, encoding: "utf8"): string;
}

/** A part of `globalThis`, which is not the same in all runtimes. */
interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
}

/**
 * Reads an API key from a file before each use, so that a new key in the file needs no restart.
 * Replace the file atomically: write another file and rename it.
 *
 * @param path of a file that contains only the key
 * @returns a function for the option `apiKey`; it throws SdkError `invalid_option`
 */
export function keyFile(path: string): () => string {
  return () => readToken(`API key in ${path}`, readTextFile(path));
}

/**
 * Reads a token of the platform from a file before each use.
 *
 * @param path such as that of a projected service account token of Kubernetes
 * @returns a function for the option `subjectToken` of `workloadIdentity`
 */
export function tokenFile(path: string): () => string {
  return () => readTextFile(path);
}

/** @returns the text without white space around it @throws SdkError `invalid_option` */
function readTextFile(path: string): string {
  const { process } = globalThis as Runtime;
  const files = process?.getBuiltinModule?.("node:fs") as FileSystem | undefined;
  if (files === undefined) {
    const message = `This runtime cannot read the file ${path}. Pass a function as apiKey.`;
    throw new SdkError("invalid_option", message);
  }
  try {
    return files.readFileSync(path, "utf8").trim();
  } catch (error) {
    const { code = "unknown error" } = Object(error) as { readonly code?: string };
    const message = `Could not read the file ${path} (${code}). Check its path and permissions.`;
    throw new SdkError("invalid_option", message);
  }
}
