/** Asks the browser for a passkey, in words that people understand when there is none. */

import { Refusal } from "./api.ts";

const FAULTS: Readonly<Record<string, string>> = {
  NotAllowedError: "No passkey was given. Try again when you are ready.",
  InvalidStateError: "This device has a passkey for this account already.",
  SecurityError: "Passkeys do not work at this address. Open the server under its own name.",
};

/** Whether the browser knows passkeys, and writes and reads them as the server does. */
export function knowsPasskeys(): boolean {
  return typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
}

/**
 * Signs by options of the server.
 *
 * @returns what the server reads
 * @throws Refusal
 */
export async function signWithPasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
): Promise<unknown> {
  if (!knowsPasskeys()) {
    throw new Refusal(400, { message: "This browser cannot sign with passkeys. Use another one." });
  }
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const credential = await navigator.credentials.get({ publicKey });
    return (credential as PublicKeyCredential).toJSON();
  } catch (error) {
    const message = error instanceof Error ? FAULTS[error.name] : undefined;
    throw message === undefined ? error : new Refusal(400, { code: "no_passkey", message });
  }
}
