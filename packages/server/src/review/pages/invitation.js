/**
 * The pages `/setup` and `/invitation`: what a link is for, and using it. The secret stands behind
 * the `#`, which browsers send to nobody.
 */

import { byId, call, onUse, requireFields, show } from "./page.js";
import { offerPasskey } from "./passkeys.js";

/** Where it waits, in this tab alone, while somebody signs in first: an address would be sent. */
const KEPT = "countersign.invitation";

const token = location.hash.slice(1) || (sessionStorage.getItem(KEPT) ?? "");
const form = byId("form");

/** Sees to what was used not being offered again by the back button. */
function leave() {
  sessionStorage.removeItem(KEPT);
  location.replace("inbox");
}

const TITLES = {
  setup: "Set up Countersign",
  join: "You are invited",
  return: "Welcome back",
};

function leadOf({ kind, project, role, name }) {
  if (kind === "setup") return "You are the first person here, and will be its operator.";
  if (kind === "return") return `Choose a new password for ${name}.`;
  return `to the project ${project}, as ${role}`;
}

function firstEmpty() {
  const inputs = [...form.querySelectorAll("input")];
  return inputs.find(({ value, readOnly }) => value === "" && !readOnly);
}

function offerForm(invitation) {
  const { kind, name, login } = invitation;
  byId("name").value = name;
  if (kind === "return") {
    byId("name-field").remove();
    byId("login").value = login;
    byId("login").readOnly = true;
    show("login-hint", "");
    show("submit", "Set password and sign in");
  }
  offerPasskey(invitation, token, leave);
  form.hidden = false;
  if (byId("join").hidden) firstEmpty()?.focus();
  else byId("join-button").focus();
  onUse(form, "submit", byId("submit"), async () => {
    requireFields(form);
    const { name: own, login: chosen, password } = form.elements;
    await call("POST", "invitation/use", {
      token,
      password: password.value,
      ...(kind !== "return" && { login: chosen.value, name: own.value }),
    });
    leave();
  });
}

/** Who has an account joins with it. */
async function offerToJoin({ kind }) {
  if (kind !== "join") return;
  const session = await call("GET", "session").catch(() => undefined);
  if (session === undefined) {
    sessionStorage.setItem(KEPT, token);
    byId("sign-in-instead").hidden = false;
    byId("sign-in-instead").querySelector("a").href = "sign-in?next=invitation";
    return;
  }
  byId("who").textContent = session.person.name;
  byId("join").hidden = false;
  onUse(byId("join-button"), "click", byId("join-button"), async () => {
    await call("POST", "invitation/join", { token });
    leave();
  });
}

async function open() {
  try {
    const invitation = await call("POST", "invitation", { token: token || "none" });
    document.title = `${TITLES[invitation.kind]} · Countersign`;
    show("title", TITLES[invitation.kind]);
    show("lead", leadOf(invitation));
    await offerToJoin(invitation);
    offerForm(invitation);
  } catch (error) {
    const isGone = error.status === 404;
    if (isGone) sessionStorage.removeItem(KEPT);
    show("title", isGone ? "This link is not valid" : "Countersign");
    show("lead", isGone ? "It was used, has expired or was taken back." : error.message);
    byId("sign-in-instead").hidden = false;
  }
}

open();
