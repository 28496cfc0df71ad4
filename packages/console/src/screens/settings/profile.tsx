/** One's own account: who one is, passkeys, password, how the console behaves, where one is. */

import type { Account, Project, Session } from "@countersign/review-api";
import { api } from "../../api.ts";
import { deviceName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { FactList } from "../../parts/facts.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { type Loaded, useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { signInUrl, urlOf } from "../../root.ts";
import { session, signOut } from "../../session.ts";
import { OwnAbsence } from "./absence.tsx";
import { ChatAccounts } from "./chat-accounts.tsx";
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
            location.replace(urlOf("sign-in"));
          }}
        >
          Sign out
        </Button>
      </div>
      <FactList
        facts={[
          ["Login", <Text key="login">{person.login}</Text>],
          ["Project", <Text key="project">{project?.name ?? "none"}</Text>],
          ["Role", project?.role ?? "none: you are not a reviewer of any project"],
          [
            "Groups",
            project?.groups.length ? (
              <Text key="groups">{project.groups.join(", ")}</Text>
            ) : undefined,
          ],
        ]}
      />
      <Projects who={who} />
    </section>
  );
}

function Projects({ who: { project, projects } }: { readonly who: Session }) {
  const others = projects.filter(({ id }) => id !== project?.id);
  if (others.length === 0) return null;
  const look = async ({ id }: Project) => {
    session.value = await api.call("POST /session/project", { body: { project_id: id } });
  };
  return (
    <div class="actions">
      {others.map((other) => (
        <Button key={other.id} onPress={() => look(other)}>
          Switch to <Text>{other.name}</Text>
        </Button>
      ))}
    </div>
  );
}

interface PasswordProps {
  readonly account: Account;
  onChange(): void;
}

function Password({ account: { has_password, person }, onChange }: PasswordProps) {
  return (
    <section class="panel" aria-labelledby="password-title">
      <h2 id="password-title">Password</h2>
      <p class="hint">A new password signs you out on all other devices.</p>
      <Form
        kind="plain"
        submit={has_password ? "Change password" : "Set password"}
        done="Password changed. You are signed out on all other devices."
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
            label="Current password"
            type="password"
            autocomplete="current-password"
            maxLength={256}
          />
        )}
        <Field
          name="new_password"
          label="New password"
          type="password"
          hint="At least 12 characters."
          autocomplete="new-password"
          maxLength={256}
        />
      </Form>
      {!has_password && (
        <p class="hint">
          <a href={signInUrl()}>Sign in again</a> first if that was more than 10 minutes ago.
        </p>
      )}
    </section>
  );
}

const METHODS: Readonly<Record<string, string>> = {
  password: "a password",
  passkey: "a passkey",
  oidc: "the identity provider",
};

function Sessions({ account }: { readonly account: Loaded<Account> }) {
  return (
    <section class="panel" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Your sessions</h2>
      <ul class="rows">
        {account.value?.sessions.map(({ id, method, user_agent, current, seen_at }) => (
          <li key={id}>
            <div>
              <strong>
                <Text>{deviceName(user_agent)}</Text>
              </strong>{" "}
              {current && <span class="badge approved">This browser</span>}
              <p class="hint">
                With {METHODS[method] ?? method}, last used <When at={seen_at} />
              </p>
            </div>
            {!current && (
              <Button
                onPress={async () => {
                  await api.call("DELETE /account/sessions/{id}", { path: { id } });
                  account.reload();
                }}
              >
                Sign out this session<span class="spoken">: {deviceName(user_agent)}</span>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
