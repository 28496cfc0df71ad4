/** Reviewers of the project with their roles and groups, and invitations. */

import type { Reviewer, ReviewerRole, ShownAbsence } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Choice, Field, Form, wordsOf } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { Table } from "../../parts/table.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { describeAbsence } from "../../requests/absence-words.ts";
import { roleName } from "../../role-names.ts";
import { session } from "../../session.ts";
import { serverNow } from "../../time.ts";

export const ROLES = [
  ["viewer", t`Viewer: can view`],
  ["reviewer", t`Reviewer: can approve and deny`],
  ["editor", t`Editor: can publish policy`],
  ["auditor", t`Auditor: can read the audit log`],
  ["admin", t`Admin: manages the project`],
  ["operator", t`Operator: manages the server`],
] as const;

export function PeopleSettings() {
  const reviewers = useLoaded((signal) => api.call("GET /reviewers", { signal }), "reviewers");
  const absences = useLoaded(
    (signal) => api.call("GET /absences", { signal }),
    "absences-of-people",
  );
  const [changing, setChanging] = useState<Reviewer>();
  const isMine = may("people");
  const absenceOf = ({ id }: Reviewer) =>
    absences.value?.absences.find(({ reviewer }) => reviewer.id === id);
  return (
    <>
      {reviewers.error !== undefined && (
        <Fault error={reviewers.error} onRetry={reviewers.reload} />
      )}
      {isMine && <Invitations />}
      <section class="panel" aria-labelledby="reviewers-title">
        <h2 id="reviewers-title">{t`Reviewers`}</h2>
        <Table
          caption={t`Reviewers of the project`}
          items={reviewers.value?.reviewers ?? []}
          keyOf={({ id }) => id}
          columns={[
            {
              title: t`Name`,
              isHead: true,
              cell: (one) => <Name reviewer={one} absence={absenceOf(one)} />,
            },
            { title: t`Role`, cell: ({ role }) => roleName(role) },
            {
              title: t`Groups`,
              cell: ({ groups }) => (groups.length === 0 ? "–" : <Text>{groups.join(", ")}</Text>),
            },
            {
              title: t`Change`,
              isActions: true,
              cell: (one) =>
                isMine && (
                  <Button kind="quiet" onPress={() => setChanging(one)}>
                    {t`Change`} <span class="spoken">{one.name}</span>
                  </Button>
                ),
            },
          ]}
        />
      </section>
      {changing !== undefined && (
        <Changing
          reviewer={changing}
          onClose={() => setChanging(undefined)}
          onChange={reviewers.reload}
        />
      )}
    </>
  );
}

interface NameProps {
  readonly reviewer: Reviewer;
  /** Present or future. */
  readonly absence: ShownAbsence | undefined;
}

function Name({ reviewer: { id, name, kind, signs_in }, absence }: NameProps) {
  const isMe = session.value?.project?.reviewer.id === id;
  return (
    <>
      <Text>{name}</Text> {isMe && <span class="badge">{t`you`}</span>}
      {kind === "bot" && <span class="badge">{t`bot`}</span>}
      {kind === "person" && !signs_in && <span class="badge">{t`token only`}</span>}
      {absence !== undefined && (
        <p class="hint">
          <Text>{describeAbsence(absence, serverNow())}</Text>
        </p>
      )}
    </>
  );
}

interface ChangingProps {
  readonly reviewer: Reviewer;
  onClose(): void;
  onChange(): void;
}

function Changing({ reviewer, onClose, onChange }: ChangingProps) {
  const { id, name, role, groups } = reviewer;
  const done = () => {
    onChange();
    onClose();
  };
  return (
    <Dialog title={name} onClose={onClose}>
      <Form
        submit={t`Save`}
        onSubmit={async (values) => {
          const role = values("role") as ReviewerRole;
          const body = { role, groups: wordsOf(values("groups")) };
          await api.call("PATCH /reviewers/{id}", { path: { id }, body });
          done();
        }}
      >
        <Choice name="role" label={t`Role`} value={role} options={ROLES} />
        <Field
          name="groups"
          label={t`Groups`}
          value={groups.join(", ")}
          hint={t`Separate with commas. Policy rules refer to them.`}
        />
      </Form>
      <hr />
      <ConfirmButton
        kind="danger"
        title={t`Remove ${name}?`}
        consequence={t`This person loses access to the project immediately. Past decisions stay.`}
        action={t`Remove from the project`}
        done={t`Removed ${name} from the project.`}
        onConfirm={async () => {
          await api.call("DELETE /reviewers/{id}", { path: { id } });
          done();
        }}
      >
        {t`Remove from the project…`}
      </ConfirmButton>
    </Dialog>
  );
}

const INVITATION_HINT = t`Displayed once. Send it only to the user you invite: it works once, for \
anyone who has it.`;

function Invitations() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /invitations", { signal }),
    "invitations",
  );
  const [link, setLink] = useState<string>();
  const open = value?.invitations.filter(({ state }) => state === "open") ?? [];
  return (
    <section class="panel" aria-labelledby="invitations-title">
      <h2 id="invitations-title">{t`Invite a user`}</h2>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <Form
        submit={t`Create invitation link`}
        onSubmit={async (values) => {
          const body = {
            name: values("name"),
            role: values("role") as ReviewerRole,
            groups: wordsOf(values("groups")),
          };
          const { url } = await api.call("POST /invitations", { body });
          setLink(url);
          reload();
        }}
      >
        <Field
          name="name"
          label={t`Name`}
          maxLength={100}
          hint={t`Other users see it next to decisions.`}
        />
        <Choice name="role" label={t`Role`} value="reviewer" options={ROLES} />
        <Field name="groups" label={t`Groups (optional)`} hint={t`Separate with commas.`} />
      </Form>
      {link !== undefined && (
        <SecretOnce
          title={t`Invitation link`}
          what={t`link`}
          secret={link}
          hint={INVITATION_HINT}
          onClose={() => setLink(undefined)}
        />
      )}
      <ul class="rows">
        {open.map(({ id, name, role, expires_at }) => (
          <li key={id}>
            <div>
              <Text>{name}</Text>, {roleName(role)}
              <p class="hint">{rich`Expires ${<When at={expires_at} />}`}</p>
            </div>
            <ConfirmButton
              title={t`Revoke the invitation of ${name}?`}
              consequence={t`Its link stops working.`}
              action={t`Revoke invitation`}
              done={t`Revoked the invitation of ${name}.`}
              onConfirm={async () => {
                await api.call("DELETE /invitations/{id}", { path: { id } });
                reload();
              }}
            >
              {t`Revoke`} <span class="spoken">{t`the invitation of ${name}`}</span>
            </ConfirmButton>
          </li>
        ))}
      </ul>
    </section>
  );
}
