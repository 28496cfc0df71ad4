/** The page `/account`: who is signed in, where, and their password. */

import { byId, call, onUse, requireFields, show } from "./page.js";
import { showPasskeys } from "./passkeys.js";

const METHODS = { password: "password", passkey: "passkey", oidc: "identity provider" };

const BROWSERS = [
  [/Edg\//, "Edge"],
  [/Firefox\//, "Firefox"],
  [/Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];

function deviceOf(userAgent) {
  const of = (table) => table.find(([pattern]) => pattern.test(userAgent))?.[1];
  const named = [of(BROWSERS), of(SYSTEMS)].filter((name) => name !== undefined);
  return named.length > 0 ? named.join(" on ") : userAgent || "Unknown browser";
}

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function timeOf(timestamp) {
  const time = document.createElement("time");
  time.dateTime = timestamp;
  time.textContent = TIME.format(new Date(timestamp));
  return time;
}

function rowOf(session) {
  const row = document.createElement("li");
  const text = document.createElement("div");
  const device = document.createElement("strong");
  device.textContent = deviceOf(session.user_agent);
  text.append(device);
  if (session.current) {
    const badge = document.createElement("span");
    badge.className = "badge";
    badge.textContent = "This browser";
    text.append(" ", badge);
  }
  const detail = document.createElement("p");
  detail.className = "hint";
  detail.append(`With ${METHODS[session.method] ?? session.method}, last used `);
  detail.append(timeOf(session.seen_at));
  text.append(detail);
  row.append(text);
  if (!session.current) {
    const end = document.createElement("button");
    end.type = "button";
    end.className = "quiet";
    end.textContent = "Sign out";
    end.setAttribute("aria-label", `Sign out ${device.textContent}`);
    onUse(end, "click", end, async () => {
      await call("DELETE", `account/sessions/${session.id}`);
      await showAccount();
      show("note", "Signed out there.");
    });
    row.append(end);
  }
  return row;
}

async function showAccount() {
  const account = await call("GET", "account");
  byId("sessions").replaceChildren(...account.sessions.map(rowOf));
  byId("current-field").hidden = !account.has_password;
  if (!account.has_password) byId("password-submit").textContent = "Set password";
  byId("password-login").value = account.person.login;
}

function showSession({ person, project, projects }) {
  show("name", person.name);
  show("login", person.login);
  show("project", project?.name ?? "none: you are a reviewer of no project here");
  show("role", project?.role ?? "none");
  show("groups", project?.groups.join(", ") ?? "");
  byId("groups-row").hidden = (project?.groups.length ?? 0) === 0;
  const others = projects.length > 1 || (projects.length === 1 && project === null);
  byId("projects-field").hidden = !others;
  byId("projects").replaceChildren(
    ...projects.map(({ id, name }) => new Option(name, id, false, id === project?.id)),
  );
  if (project === null) byId("projects").selectedIndex = -1;
}

const passwordForm = byId("password-form");

onUse(passwordForm, "submit", byId("password-submit"), async () => {
  requireFields(passwordForm);
  const { current_password: current, new_password: next } = passwordForm.elements;
  await call("PUT", "account/password", {
    ...(current.value !== "" && { current_password: current.value }),
    new_password: next.value,
  });
  passwordForm.reset();
  await showAccount();
  show("note", "Your password is changed, and you are signed out everywhere else.");
});

onUse(byId("projects"), "change", byId("projects"), async () => {
  showSession(await call("POST", "session/project", { project_id: byId("projects").value }));
});

onUse(byId("sign-out"), "click", byId("sign-out"), async () => {
  await call("DELETE", "session");
  location.replace("sign-in");
});

async function open() {
  try {
    showSession(await call("GET", "session"));
    await Promise.all([showAccount(), showPasskeys()]);
  } catch (error) {
    if (error.status === 401) {
      location.replace("sign-in?next=account");
      return;
    }
    show("alert", error.message);
  }
  byId("page").hidden = false;
  byId("sign-out").hidden = false;
}

open();
