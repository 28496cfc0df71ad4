/** The page `/sign-in`: by SSO, by passkey or by password, as the server and the browser allow. */

import type { SignInWays } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { t } from "../language/t.ts";
import { Button } from "../parts/button.tsx";
import { Field, Form, type Values } from "../parts/form.tsx";
import { Fault } from "../parts/notice.tsx";
import { signInWithPasskey, supportsPasskeys } from "../passkey.ts";
import { urlOf } from "../root.ts";
import { Card, renderPage } from "./card.tsx";
import { nextPage, returnPath } from "./next-page.ts";

function SignIn() {
  const [ways, setWays] = useState<SignInWays>({ oidc: false, only: false });
  const [fault, setFault] = useState<unknown>();
  const [isFormOpen, setFormOpen] = useState(false);
  const hasForm = !ways.only || isFormOpen;
  useEffect(() => {
    api.call("GET /session/ways").then(setWays, setFault);
  }, []);
  return (
    <Card title={t`Sign in`} lead={t`to Countersign, where people approve what AI agents do`}>
      {fault !== undefined && <Fault error={fault} />}
      {supportsPasskeys() && (
        <Button kind="primary" onPress={() => signInWithPasskey().then(openNext)}>
          {t`Sign in with a passkey`}
        </Button>
      )}
      {ways.oidc && (
        <Button kind="primary" onPress={signInWithSso}>
          {t`Sign in with SSO`}
        </Button>
      )}
      {hasForm && (supportsPasskeys() || ways.oidc) && <p class="or">{t`or with a password`}</p>}
      {hasForm ? (
        <PasswordForm />
      ) : (
        <Button kind="quiet" onPress={() => setFormOpen(true)}>
          {t`Sign in without SSO`}
        </Button>
      )}
      <p class="hint">{t`No account yet? An administrator of your project can invite you.`}</p>
    </Card>
  );
}

function PasswordForm() {
  const login = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  useEffect(() => login.current?.focus(), []);
  async function signIn(values: Values): Promise<void> {
    const body = { login: values("login"), password: values("password") };
    try {
      await api.call("POST /session", { body });
    } catch (error) {
      if (password.current !== null) password.current.value = "";
      password.current?.focus();
      throw error;
    }
    openNext();
  }
  return (
    <Form submit={t`Sign in`} kind={supportsPasskeys() ? "plain" : "primary"} onSubmit={signIn}>
      <Field
        name="login"
        label={t`Login`}
        inputRef={login}
        autocomplete="username"
        autocapitalize="none"
        maxLength={254}
      />
      <Field
        name="password"
        label={t`Password`}
        type="password"
        inputRef={password}
        autocomplete="current-password"
        maxLength={256}
      />
    </Form>
  );
}

function openNext(): void {
  location.replace(nextPage());
}

function signInWithSso(): void {
  const query = new URLSearchParams({ return_to: returnPath() });
  location.assign(urlOf(`review/v1/session/oidc?${query}`));
}

renderPage(t`Sign in`, <SignIn />);
