/** What the pages do with passkeys: asking the browser for one, and offering that to people. */

import { byId, call, nextPage, onUse, Refusal, requireFields, show } from "./page.js";

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
  ...[
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
  ],
  ...[
    [/Mac OS X/, "macOS"],
    [/Linux/, "Linux"],
  ],
];

/** What a new passkey is called until its owner says otherwise. */
function nameOfDevice() {
  const system = SYSTEMS.find(([pattern]) => pattern.test(navigator.userAgent))?.[1];
  return system === undefined ? "Passkey" : `Passkey on ${system}`;
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** On the page of an account: those that there are, and one more. */
export async function showPasskeys() {
  const section = document.querySelector("[data-slot=passkeys]");
  const { passkeys } = await call("GET", "account/passkeys");
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.append(
    "Sign in and sign decisions with your fingerprint, face or PIN. To add or remove one, ",
  );
  const again = document.createElement("a");
  again.href = "sign-in?next=account";
  again.textContent = "sign in again";
  hint.append(again, " if that was more than 10 minutes ago.");
  const list = document.createElement("ul");
  list.className = "rows";
  list.append(...passkeys.map(rowOf));
  section.replaceChildren(byId("passkeys-title"), hint, list);
  if (knowsPasskeys()) section.append(addButton());
  section.hidden = false;
}

function addButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "secondary";
  button.textContent = "Create a passkey";
  onUse(button, "click", button, async () => {
    const { options } = await call("POST", "account/passkeys/options", {});
    const answer = await makePasskey(options);
    await call("POST", "account/passkeys", { name: nameOfDevice(), answer });
    await showPasskeys();
    show("note", "The passkey is yours.");
  });
  return button;
}

function rowOf({ id, name, created_at, used_at }) {
  const row = document.createElement("li");
  const text = document.createElement("div");
  const title = document.createElement("strong");
  title.textContent = name;
  const detail = document.createElement("p");
  detail.className = "hint";
  const used = used_at === null ? "not used yet" : `last used ${DAY.format(new Date(used_at))}`;
  detail.textContent = `Added ${DAY.format(new Date(created_at))}, ${used}`;
  text.append(title, detail);
  const path = `account/passkeys/${id}`;
  const rename = quietButton("Rename", name);
  onUse(rename, "click", rename, () => void text.replaceChildren(renameForm(path, name)));
  const remove = quietButton("Remove", name);
  onUse(remove, "click", remove, async () => {
    await call("DELETE", path);
    await showPasskeys();
    show("note", "The passkey is removed. Delete it on your device as well.");
  });
  row.append(text, rename, remove);
  return row;
}

function quietButton(text, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = text;
  button.setAttribute("aria-label", `${text} ${name}`);
  return button;
}

function renameForm(path, name) {
  const form = document.createElement("form");
  const field = document.createElement("input");
  field.value = name;
  field.maxLength = 80;
  field.required = true;
  field.setAttribute("aria-label", `New name of ${name}`);
  const save = document.createElement("button");
  save.className = "secondary";
  save.textContent = "Save name";
  form.append(field, save);
  onUse(form, "submit", save, async () => {
    await call("PATCH", path, { name: field.value });
    await showPasskeys();
  });
  return form;
}
