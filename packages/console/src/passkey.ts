/** Asks the browser for a passkey. */

import { api, Refusal } from "./api.ts";
import { t } from "./language/t.ts";

/** The JSON that the server verifies. */
type Answer = Readonly<Record<string, unknown>>;

const FAULTS: Readonly<Record<string, string>> = {
  NotAllowedError: t`The browser returned no passkey: the prompt was closed or timed out. Try \
again.`,
  InvalidStateError: t`This device already has a passkey for this account.`,
  SecurityError: t`Passkeys do not work at this address. Open the server by its domain name.`,
};

/** Whether the browser supports passkeys and their JSON format. */
export function supportsPasskeys(): boolean {
  return typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
}

/**
 * Signs the challenge of the server with a passkey.
 *
 * @throws Refusal when the browser returns none
 */
export function signWithPasskey(options: object): Promise<Answer> {
  return credentialOf(() => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
      options as PublicKeyCredentialRequestOptionsJSON,
    );
    return navigator.credentials.get({ publicKey });
  });
}

/**
 * Signs in with a passkey; the answer sets the cookie.
 *
 * @throws Refusal
 */
export async function signInWithPasskey(): Promise<void> {
  const { options } = await api.call("POST /session/passkey/options");
  const answer = await signWithPasskey(options);
  await api.call("POST /session/passkey", { body: { answer } });
}

/**
 * Creates a passkey.
 *
 * @throws Refusal when the browser returns none
 */
export function createPasskey(options: object): Promise<Answer> {
  return credentialOf(() => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
      options as PublicKeyCredentialCreationOptionsJSON,
    );
    return navigator.credentials.create({ publicKey });
  });
}

async function credentialOf(prompt: () => Promise<Credential | null>): Promise<Answer> {
  if (!supportsPasskeys()) {
    throw new Refusal(400, {
      message: t`This browser does not support passkeys. Use another one.`,
    });
  }
  try {
    return { ...((await prompt()) as PublicKeyCredential).toJSON() };
  } catch (error) {
    const message = error instanceof Error ? FAULTS[error.name] : undefined;
    throw message === undefined ? error : new Refusal(400, { code: "no_passkey", message });
  }
}
