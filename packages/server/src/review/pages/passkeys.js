/** What the pages do with passkeys: asking the browser for one, and offering that to people. */

import { byId, call, nextPage, onUse, Refusal, requireFields } from "./page.js";

/** Whether the browser knows passkeys, and writes and reads them as the server does. */
function knowsPasskeys() {
  return typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON === "function";
}

const FAULTS = {
  NotAllowedError: "No passkey was given. Try again when you are ready.",
  InvalidStateError: "This device has a passkey for this account already.",
  SecurityError: "Passkeys do not work at this address. Open the server under its own name.",
};

/** @param {() => Promise<Credential | null>} ask @returns what the server reads */
async function answerOf(ask) {
  let credential;
  try {
    credential = await ask();
  } catch (error) {
    const message = FAULTS[error.name];
    throw message === undefined ? error : new Refusal(400, { code: "no_passkey", message });
  }
  return credential.toJSON();
}

/** Makes a passkey by options of the server. */
export function makePasskey(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return answerOf(() => navigator.credentials.create({ publicKey }));
}

/** Signs by options of the server. */
export function usePasskey(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return answerOf(() => navigator.credentials.get({ publicKey }));
}

/** A button first, and what is below it second. */
function offer(text, below) {
  const slot = document.querySelector("[data-slot=passkey]");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "primary";
  button.textContent = text;
  const or = document.createElement("p");
  or.className = "or";
  or.textContent = below;
  slot.replaceChildren(button, or);
  slot.classList.add("stack");
  slot.hidden = false;
  const submit = byId("form").querySelector("[type=submit]");
  submit.classList.replace("primary", "secondary");
  return button;
}

/** On the page that signs in. */
export function offerSignIn() {
  if (!knowsPasskeys()) return;
  const button = offer("Sign in with a passkey", "or with a password");
  onUse(button, "click", button, async () => {
    const { options } = await call("POST", "session/passkey/options", {});
    await call("POST", "session/passkey", { answer: await usePasskey(options) });
    location.replace(nextPage());
  });
}

/** On the page of a link; the password is what is left for browsers without passkeys. */
export function offerPasskey({ kind }, token, leave) {
  if (!knowsPasskeys()) return;
  const button = offer("Create a passkey", "or choose a password");
  const form = byId("form");
  onUse(button, "click", button, async () => {
    requireFields(form, ["name", "login"]);
    const { name, login } = form.elements;
    const who = kind === "return" ? {} : { login: login.value };
    const { options } = await call("POST", "invitation/passkey/options", { token, ...who });
    const named = kind === "return" ? {} : { name: name.value };
    const answer = await makePasskey(options);
    const passkey_name = nameOfDevice();
    await call("POST", "invitation/passkey", { token, ...who, ...named, passkey_name, answer });
    leave();
  });
}

const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

/** What a new passkey is called until its owner says otherwise. */
function nameOfDevice() {
  const system = SYSTEMS.find(([pattern]) => pattern.test(navigator.userAgent))?.[1];
  return system === undefined ? "Passkey" : `Passkey on ${system}`;
}
