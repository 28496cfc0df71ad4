/** One's own account: who one is, passkeys, password, how the console behaves, where one is. */

import type { Account } from "@countersign/review-api";
import { api } from "../../api.ts";
import { deviceName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { FactList } from "../../parts/facts.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { type Loaded, useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { roleName } from "../../role-names.ts";
import { signInUrl, urlOf } from "../../root.ts";
import { session, signOut } from "../../session.ts";
import { OwnAbsence } from "./absence.tsx";
import { ChatAccounts } from "./chat-accounts.tsx";
import { OpenConsole } from "./open-console.tsx";
import { Passkeys } from "./passkey-list.tsx";
import { ThisConsole } from "./this-console.tsx";
import { ThisDevice } from "./this-device.tsx";

export function ProfileSettings() {
  const account = useLoaded((signal) => api.call("GET /account", { signal }), "account");
  return (
    <>
      <WhoIAm />
      {account.error !== undefined && <Fault error={account.error} onRetry={account.reload} />}
      <Passkeys />
      <ThisDevice />
      <OpenConsole />
      {session.value?.project && <OwnAbsence />}
      {session.value?.project && <ChatAccounts />}
      <ThisConsole />
      {account.value !== undefined && (
        <Password account={account.value} onChange={account.reload} />
      )}
      {account.value !== undefined && <Sessions account={account} />}
    </>
  );
}

function WhoIAm() {
  const who = session.value;
  if (who === undefined) return null;
  const { person, project } = who;
  return (
    <section class="panel" aria-labelledby="who-title">
      <div class="panel-head">
        <h2 id="who-title">
          <Text>{person.name || person.login}</Text>
        </h2>
        <Button
          onPress={async () => {
            await signOut();
            await navigator.clearAppBadge?.();
            location.replace(urlOf("sign-in"));
          }}
        >
          {t`Sign out`}
        </Button>
      </div>
      <FactList
        facts={[
          [t`Login`, <Text key="login">{person.login}</Text>],
          [t`Project`, <Text key="project">{project?.name ?? t`none`}</Text>],
          [
            t`Role`,
            project ? roleName(project.role) : t`none: you are not a reviewer of any project`,
          ],
          [
            t`Groups`,
            project?.groups.length ? (
              <Text key="groups">{project.groups.join(", ")}</Text>
            ) : undefined,
          ],
        ]}
      />
    </section>
  );
}

interface PasswordProps {
  readonly account: Account;
  onChange(): void;
}

function Password({ account: { has_password, person }, onChange }: PasswordProps) {
  return (
    <section class="panel" aria-labelledby="password-title">
      <h2 id="password-title">{t`Password`}</h2>
      <p class="hint">{t`A new password signs you out on all other devices.`}</p>
      <Form
        kind="plain"
        submit={has_password ? t`Change password` : t`Set password`}
        done={t`Password changed. You are signed out on all other devices.`}
        onSubmit={async (values) => {
          const current = values("current_password");
          const body = {
            ...(current !== "" && { current_password: current }),
            new_password: values("new_password"),
          };
          await api.call("PUT /account/password", { body });
          onChange();
        }}
      >
        <input type="text" name="login" value={person.login} autocomplete="username" hidden />
        {has_password && (
          <Field
            name="current_password"
            label={t`Current password`}
            type="password"
            autocomplete="current-password"
            maxLength={256}
          />
        )}
        <Field
          name="new_password"
          label={t`New password`}
          type="password"
          hint={t`At least 12 characters.`}
          autocomplete="new-password"
          maxLength={256}
        />
      </Form>
      {!has_password && (
        <p class="hint">
          {rich`${<a href={signInUrl()}>{t`Sign in again`}</a>} first if that was more than 10 \
minutes ago.`}
        </p>
      )}
    </section>
  );
}

interface SignInProps {
  readonly method: string;
  readonly at: string;
}

function SignInNote({ method, at }: SignInProps) {
  const time = <When at={at} />;
  switch (method) {
    case "password":
      return <>{rich`With a password, last used ${time}`}</>;
    case "passkey":
      return <>{rich`With a passkey, last used ${time}`}</>;
    case "oidc":
      return <>{rich`With the identity provider, last used ${time}`}</>;
    default:
      return <>{rich`With ${method}, last used ${time}`}</>;
  }
}

function Sessions({ account }: { readonly account: Loaded<Account> }) {
  return (
    <section class="panel" aria-labelledby="sessions-title">
      <h2 id="sessions-title">{t`Your sessions`}</h2>
      <ul class="rows">
        {account.value?.sessions.map(({ id, method, user_agent, current, seen_at }) => (
          <li key={id}>
            <div>
              <strong>
                <Text>{deviceName(user_agent)}</Text>
              </strong>{" "}
              {current && <span class="badge approved">{t`This browser`}</span>}
              <p class="hint">
                <SignInNote method={method} at={seen_at} />
              </p>
            </div>
            {!current && (
              <Button
                onPress={async () => {
                  await api.call("DELETE /account/sessions/{id}", { path: { id } });
                  account.reload();
                }}
              >
                {t`Sign out this session`}
                <span class="spoken">: {deviceName(user_agent)}</span>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
