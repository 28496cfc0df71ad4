/**
 * What the pages share: speaking to the server, and telling people what it said. No page writes
 * markup: what comes from elsewhere is text and stays text.
 */

/** A refusal of the server, in its words. */
export class Refusal extends Error {
  /** @param {number} status @param {{code?: string, message?: string, param?: string}} error */
  constructor(status, error) {
    super(error.message ?? "The server cannot be reached. Try again in a moment.");
    this.status = status;
    this.code = error.code;
    this.param = error.param;
  }
}

/** The root of this server, also where a proxy puts a path in front and from any page below it. */
const ROOT = new URL("..", import.meta.url);

/** A page or an exchange of this server: `path` as the server knows it, without a slash first. */
export function urlOf(path) {
  return new URL(path, ROOT).href;
}

/** Where somebody signs in who then comes back here. */
export function signInUrl() {
  const here = location.href.slice(ROOT.href.length);
  return urlOf(`sign-in?next=${encodeURIComponent(here)}`);
}

/** One exchange with the reviewer surface; `path` is behind `/review/v1/`. */
export async function call(method, path, body, timeoutMs) {
  let response;
  try {
    response = await fetch(urlOf(`review/v1/${path}`), {
      method,
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
  } catch {
    throw new Refusal(0, {});
  }
  const json = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, json.error ?? {});
  return json;
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(id, text) {
  const element = byId(id);
  if (text !== undefined) element.textContent = text;
  element.hidden = text === "";
  return element;
}

/** Says what went wrong, at the field that it is about if there is one. */
export function showFault(error) {
  clearFaults();
  const isRefusal = error instanceof Refusal;
  const field = isRefusal && error.param ? byId(error.param) : null;
  const fault = isRefusal && error.param ? byId(`${error.param}-fault`) : null;
  const message = isRefusal ? error.message : "Something went wrong here. Reload the page.";
  if (field === null || fault === null) {
    show("alert", message);
    return;
  }
  show(fault.id, sentenceOf(message, error.param));
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", fault.id);
  field.focus();
}

/** The server names the field as the exchange does; beside its label that is no news. */
function sentenceOf(message, param) {
  const rest = message.startsWith(`${param} `) ? message.slice(param.length + 1) : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

export function clearFaults() {
  show("alert", "");
  for (const fault of document.querySelectorAll(".fault")) fault.hidden = true;
  for (const field of document.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
}

/** Runs once at a time what a button or a form begins, and shows what goes wrong. */
export function onUse(element, type, button, work) {
  element.addEventListener(type, async (event) => {
    event.preventDefault();
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    clearFaults();
    try {
      await work(event);
    } catch (error) {
      showFault(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
  });
}

/** The first required field (of these) that is empty, told as the server would. */
export function requireFields(form, names = undefined) {
  for (const field of form.querySelectorAll("input[required]")) {
    if (names !== undefined && !names.includes(field.name)) continue;
    if (field.value === "" && field.offsetParent !== null) {
      throw new Refusal(400, { param: field.id, message: "is required." });
    }
  }
}

/** Where to go after signing in: a page of this server that `?next=` names, or the inbox. */
export function nextPage() {
  const inbox = urlOf("inbox");
  const next = new URLSearchParams(location.search).get("next");
  if (next === null || !URL.canParse(next, ROOT)) return inbox;
  const { protocol, origin, href } = new URL(next, ROOT);
  // A `blob:` has the origin of whoever made it.
  return protocol === location.protocol && origin === location.origin ? href : inbox;
}
