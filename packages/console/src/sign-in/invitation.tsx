/**
 * The pages `/setup` and `/invitation`. The secret of the link is behind the `#`, which browsers
 * send to no server.
 */

import type { OpenedInvitation, Session } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api.ts";
import { newPasskeyName } from "../device-name.ts";
import { Text } from "../exact/text.tsx";
import { rich, t } from "../language/t.ts";
import { Button, messageOf } from "../parts/button.tsx";
import { Field, Fields, useSubmission, type Values } from "../parts/form.tsx";
import { createPasskey, supportsPasskeys } from "../passkey.ts";
import { roleName } from "../role-names.ts";
import { urlOf } from "../root.ts";
import { hrefIn } from "../route.ts";
import { Card, renderPage } from "./card.tsx";

/** Keeps the secret in this tab while the user signs in first. */
const KEPT = "countersign.invitation";

const token = location.hash.slice(1) || (sessionStorage.getItem(KEPT) ?? "");

const TITLES = {
  setup: t`Set up Countersign`,
  join: t`You are invited`,
  return: t`Welcome back`,
};

function Invited({ kind, project, role, name }: OpenedInvitation) {
  const ownRole = role === null ? "" : roleName(role);
  switch (kind) {
    case "setup":
      return <>{t`You are the first user of this server. You get the role operator.`}</>;
    case "join":
      return (
        <>{rich`Join the project ${<Text>{project ?? ""}</Text>} with the role ${ownRole}.`}</>
      );
    case "return":
      return <>{rich`Choose a new password for ${<Text>{name}</Text>}.`}</>;
  }
}

type State =
  | { readonly invitation: OpenedInvitation; readonly session: Session | undefined }
  | { readonly error: unknown };

async function load(): Promise<State> {
  try {
    const body = { token: token || "none" };
    const invitation = await api.call("POST /invitation", { body });
    const session =
      invitation.kind === "join"
        ? await api.call("GET /session").catch(() => undefined)
        : undefined;
    return { invitation, session };
  } catch (error) {
    return { error };
  }
}

/** Replaces the page, so that the back button does not offer the used link again. */
function openInbox({ project }: Session): void {
  sessionStorage.removeItem(KEPT);
  location.replace(project === null ? urlOf("inbox") : hrefIn(project.id, "/inbox"));
}

function Page() {
  const [state, setState] = useState<State>();
  useEffect(() => {
    void load().then(setState);
  }, []);
  if (state === undefined) return null;
  if ("error" in state) return <NotOpened error={state.error} />;
  const { invitation, session } = state;
  document.title = `${TITLES[invitation.kind]} · Countersign`;
  return (
    <Card title={TITLES[invitation.kind]} lead={<Invited {...invitation} />}>
      {session !== undefined && <Join session={session} />}
      <AccountForm invitation={invitation} hasFocus={session === undefined} />
      {invitation.kind === "join" && session === undefined && <SignInInstead />}
    </Card>
  );
}

function NotOpened({ error }: { readonly error: unknown }) {
  const isGone = error instanceof Refusal && error.status === 404;
  if (isGone) sessionStorage.removeItem(KEPT);
  return (
    <Card
      title={isGone ? t`This link is not valid` : "Countersign"}
      lead={isGone ? t`It was used already, has expired or was revoked.` : messageOf(error)}
    >
      <p class="hint">
        <a href={urlOf("sign-in")}>{t`Sign in instead`}</a>
      </p>
    </Card>
  );
}

function SignInInstead() {
  useEffect(() => sessionStorage.setItem(KEPT, token), []);
  return (
    <p class="hint">
      {t`Do you have an account?`}{" "}
      <a href={urlOf("sign-in?next=invitation")}>{t`Sign in instead`}</a>
    </p>
  );
}

/** A user who has an account joins with it. */
function Join({ session }: { readonly session: Session }) {
  async function join(): Promise<void> {
    openInbox(await api.call("POST /invitation/join", { body: { token } }));
  }
  return (
    <>
      <p>{rich`You are signed in as ${<Text>{session.person.name}</Text>}.`}</p>
      <Button kind="primary" onPress={join}>
        {t`Join the project`}
      </Button>
      <p class="or">{t`or create a new account`}</p>
    </>
  );
}

interface AccountFormProps {
  readonly invitation: OpenedInvitation;
  readonly hasFocus: boolean;
}

function AccountForm({ invitation, hasFocus }: AccountFormProps) {
  const isReturn = invitation.kind === "return";
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, submit } = useSubmission();
  useEffect(() => {
    const inputs = form.current?.querySelectorAll<HTMLInputElement>("input:not([readonly])") ?? [];
    if (hasFocus) [...inputs].find(({ value }) => value === "")?.focus();
  }, [hasFocus]);

  /** The chosen values; an existing account keeps its login and name. */
  function chosen(values: Values, ...names: readonly string[]) {
    return isReturn ? {} : Object.fromEntries(names.map((name) => [name, values(name)]));
  }

  async function usePassword(values: Values): Promise<void> {
    const body = { token, password: values("password"), ...chosen(values, "login", "name") };
    openInbox(await api.call("POST /invitation/use", { body }));
  }

  async function useNewPasskey(values: Values): Promise<void> {
    for (const name of isReturn ? [] : ["name", "login"]) {
      // The browser would ask for a passkey that the server then rejects.
      if (values(name) === "") throw new Refusal(400, { param: name, message: t`is required.` });
    }
    const { options } = await api.call("POST /invitation/passkey/options", {
      body: { token, ...chosen(values, "login") },
    });
    const answer = await createPasskey(options);
    const passkey_name = newPasskeyName();
    const body = { token, ...chosen(values, "login", "name"), passkey_name, answer };
    openInbox(await api.call("POST /invitation/passkey", { body }));
  }

  return (
    <form
      class="form"
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget, usePassword);
      }}
    >
      <Fields fault={fault}>
        {!isReturn && (
          <Field
            name="name"
            label={t`Your name`}
            hint={t`Other users see this name next to your decisions.`}
            value={invitation.name}
            autocomplete="name"
            maxLength={100}
          />
        )}
        <Field
          name="login"
          label={t`Login`}
          hint={isReturn ? undefined : t`You sign in with it, for example your email address.`}
          value={invitation.login ?? ""}
          readOnly={isReturn}
          autocomplete="username"
          autocapitalize="none"
          maxLength={254}
        />
        {supportsPasskeys() && (
          <>
            <button
              type="button"
              class="primary"
              aria-busy={isBusy}
              onClick={() => form.current && void submit(form.current, useNewPasskey)}
            >
              {t`Create a passkey`}
            </button>
            <p class="or">{t`or choose a password`}</p>
          </>
        )}
        <Field
          name="password"
          label={t`Password`}
          type="password"
          hint={t`At least 12 characters. A few words are easy to remember.`}
          autocomplete="new-password"
          maxLength={256}
        />
      </Fields>
      <button type="submit" class={supportsPasskeys() ? "plain" : "primary"} aria-busy={isBusy}>
        {isReturn ? t`Set password and sign in` : t`Create account`}
      </button>
    </form>
  );
}

renderPage(t`Invitation`, <Page />);
