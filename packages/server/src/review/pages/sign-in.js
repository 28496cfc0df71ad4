/** The page `/sign-in`. Other ways than a password have their places: `data-slot`. */

import { byId, call, nextPage, onUse, requireFields } from "./page.js";
import { offerSignIn } from "./passkeys.js";

const form = byId("form");

onUse(form, "submit", form.querySelector("button"), async () => {
  requireFields(form);
  const { login, password } = form.elements;
  try {
    await call("POST", "session", { login: login.value, password: password.value });
  } catch (error) {
    password.value = "";
    password.focus();
    throw error;
  }
  location.replace(nextPage());
});

offerSignIn();
byId("login").focus();
