/** What the settings do with passkeys: asking the browser for one, in words when it has none. */

import { Refusal } from "../../api.ts";

/** Whether the browser knows passkeys, and writes and reads them as the server does. */
export function knowsPasskeys(): boolean {
  return typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON === "function";
}

const FAULTS: Readonly<Record<string, string>> = {
  NotAllowedError: "No passkey was given. Try again when you are ready.",
  InvalidStateError: "This device has a passkey for this account already.",
  SecurityError: "Passkeys do not work at this address. Open the server under its own name.",
};

/**
 * Makes a passkey.
 *
 * @param options of the server
 * @returns what the server reads
 * @throws Refusal when the person or the device gives none
 */
export async function makePasskey(
  options: PublicKeyCredentialCreationOptionsJSON,
): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  try {
    const credential = await navigator.credentials.create({ publicKey });
    return (credential as PublicKeyCredential | null)?.toJSON();
  } catch (error) {
    const message = error instanceof Error ? FAULTS[error.name] : undefined;
    if (message === undefined) throw error;
    throw new Refusal(400, { code: "no_passkey", message });
  }
}

type Words = readonly (readonly [pattern: RegExp, name: string])[];

const BROWSERS: Words = [
  [/Edg\//, "Edge"],
  [/Firefox\//, "Firefox"],
  [/Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: Words = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

function find(words: Words, userAgent: string): string | undefined {
  return words.find(([pattern]) => pattern.test(userAgent))?.[1];
}

/** Like `Firefox on Linux`: what a browser calls itself, shorter. */
export function deviceOf(userAgent: string): string {
  const named = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  return named.filter((name) => name !== undefined).join(" on ") || userAgent || "Unknown browser";
}

/** What a new passkey is called until its owner says otherwise. */
export function nameOfDevice(): string {
  const system = find(SYSTEMS, navigator.userAgent);
  return system === undefined ? "Passkey" : `Passkey on ${system}`;
}
