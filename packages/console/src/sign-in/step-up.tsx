/**
 * Signs the user in again in a dialog, where an operation requires a recent sign-in. The page
 * behind it keeps everything that was typed.
 */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { api, type StepUp, setStepUp } from "../api.ts";
import { rich, t } from "../language/t.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Form } from "../parts/form.tsx";
import { signInWithPasskey, supportsPasskeys } from "../passkey.ts";
import { signInUrl } from "../root.ts";
import { loadSession, session } from "../session.ts";

interface Asked {
  finish(isSignedIn: boolean): void;
}

const asked = signal<Asked | undefined>(undefined);
let pending: Promise<boolean> | undefined;

/** Calls that are rejected together ask once. */
const ask: StepUp = () => {
  pending ??= new Promise<boolean>((resolve) => {
    asked.value = { finish: resolve };
  }).finally(() => {
    asked.value = undefined;
    pending = undefined;
  });
  return pending;
};

export function StepUpDialog() {
  useEffect(() => setStepUp(ask), []);
  return asked.value === undefined ? null : <Shown {...asked.value} />;
}

function Shown({ finish }: Asked) {
  const [hasSso, setSso] = useState(false);
  useEffect(() => {
    api.call("GET /session/ways").then(({ oidc }) => setSso(oidc), console.info);
  }, []);
  const login = session.value?.person.login ?? "";
  const done = async () => {
    await reloadSession();
    finish(true);
  };
  return (
    <Dialog title={t`Confirm that it is you`} onClose={() => finish(false)}>
      <p class="hint">
        {t`You signed in more than 10 minutes ago. This action needs a recent sign-in.`}
      </p>
      {supportsPasskeys() && (
        <Button
          kind="primary"
          onPress={async () => {
            await signInWithPasskey();
            await done();
          }}
        >
          {t`Continue with a passkey`}
        </Button>
      )}
      <Form
        submit={t`Continue with the password`}
        kind="plain"
        onSubmit={async (values) => {
          await api.call("POST /session", { body: { login, password: values("password") } });
          await done();
        }}
      >
        <Field
          name="password"
          label={t`Password of ${login}`}
          type="password"
          autocomplete="current-password"
          maxLength={256}
        />
      </Form>
      {hasSso && (
        <p>
          {rich`${<a href={signInUrl()}>{t`Sign in with SSO`}</a>} on another page. It loses what \
you typed here.`}
        </p>
      )}
    </Dialog>
  );
}

/** A passkey may be that of another user. */
async function reloadSession(): Promise<void> {
  const before = session.peek();
  const now = await api.call("GET /session");
  if (now.person.id !== before?.person.id) {
    location.reload();
    return;
  }
  await loadSession();
}
