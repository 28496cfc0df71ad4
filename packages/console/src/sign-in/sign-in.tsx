/** The page `/sign-in`: by SSO, by passkey or by password, as the server and the browser allow. */

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Field, Form, type Values } from "../parts/form.tsx";
import { Fault } from "../parts/notice.tsx";
import { signWithPasskey, supportsPasskeys } from "../passkey.ts";
import { urlOf } from "../root.ts";
import { Card, renderPage } from "./card.tsx";
import { nextPage, returnPath } from "./next-page.ts";

/** As `GET /review/v1/session/ways` returns. */
interface Ways {
  readonly oidc: boolean;
  /** Whether everybody signs in by SSO, except one account for emergencies. */
  readonly only: boolean;
}

function SignIn() {
  const [ways, setWays] = useState<Ways>({ oidc: false, only: false });
  const [fault, setFault] = useState<unknown>();
  const [isAsked, setAsked] = useState(false);
  const hasForm = !ways.only || isAsked;
  useEffect(() => {
    call<Ways>("GET", "session/ways").then(setWays, setFault);
  }, []);
  return (
    <Card title="Sign in" lead="to Countersign, where people approve what AI agents do">
      {fault !== undefined && <Fault error={fault} />}
      {supportsPasskeys() && (
        <Button kind="primary" onPress={signInWithPasskey}>
          Sign in with a passkey
        </Button>
      )}
      {ways.oidc && (
        <Button kind="primary" onPress={signInWithSso}>
          Sign in with SSO
        </Button>
      )}
      {hasForm && (supportsPasskeys() || ways.oidc) && <p class="or">or with a password</p>}
      {hasForm ? (
        <PasswordForm />
      ) : (
        <Button kind="quiet" onPress={() => setAsked(true)}>
          Sign in without SSO
        </Button>
      )}
      <p class="hint">No account yet? An administrator of your project can invite you.</p>
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
      await call("POST", "session", { body });
    } catch (error) {
      if (password.current !== null) password.current.value = "";
      password.current?.focus();
      throw error;
    }
    location.replace(nextPage());
  }
  return (
    <Form submit="Sign in" kind={supportsPasskeys() ? "plain" : "primary"} onSubmit={signIn}>
      <Field
        name="login"
        label="Login"
        inputRef={login}
        autocomplete="username"
        autocapitalize="none"
        maxLength={254}
      />
      <Field
        name="password"
        label="Password"
        type="password"
        inputRef={password}
        autocomplete="current-password"
        maxLength={256}
      />
    </Form>
  );
}

async function signInWithPasskey(): Promise<void> {
  const { options } = await call<{ readonly options: PublicKeyCredentialRequestOptionsJSON }>(
    "POST",
    "session/passkey/options",
    { body: {} },
  );
  const answer = await signWithPasskey(options);
  await call("POST", "session/passkey", { body: { answer } });
  location.replace(nextPage());
}

function signInWithSso(): void {
  const query = new URLSearchParams({ return_to: returnPath() });
  location.assign(urlOf(`review/v1/session/oidc?${query}`));
}

renderPage(<SignIn />);
