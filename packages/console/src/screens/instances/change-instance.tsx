/** Questions before an instance is changed or deleted. */

import type { Instance } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { announce } from "../../parts/announce.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { groupsIn } from "./new-instance.tsx";
import { OwnerField } from "./owner-field.tsx";
import { countWords } from "./wire.ts";

export interface InstanceDialogProps {
  readonly instance: Instance;
  onClose(): void;
  onDone(): void;
}

/** Asks for the name, because agents that use it stop. */
export function DeleteDialog({ instance, onClose, onDone }: InstanceDialogProps) {
  const { id, name, pending } = instance;
  const [typed, setTyped] = useState("");
  const remove = async () => {
    await api.call("DELETE /instances/{id}", { path: { id } });
    onDone();
  };
  return (
    <Dialog
      title={t`Delete this instance?`}
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>{t`Cancel`}</Button>
          <Button kind="danger" disabled={typed !== name} onPress={remove}>
            {t`Delete permanently`}
          </Button>
        </>
      }
    >
      <p>
        {pending === 0
          ? t`Its credential is revoked immediately, its deliveries stop, and \
it has no pending requests.`
          : t`Its credential is revoked immediately, its deliveries stop, and \
its pending requests (${countWords(pending)}) are cancelled.`}{" "}
        {t`This cannot be undone.`}
      </p>
      <label class="field">
        <span>
          {rich`Type ${(
            <strong>
              <Text>{name}</Text>
            </strong>
          )} to confirm`}
        </span>
        <input
          type="text"
          autofocus
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}

export function RenameDialog({ instance: { id, name }, onClose, onDone }: InstanceDialogProps) {
  return (
    <Dialog title={t`Rename ${name}`} onClose={onClose}>
      <p class="hint">{t`Reviewers see the new name, also for earlier requests.`}</p>
      <Form
        submit={t`Rename`}
        onSubmit={async (values) => {
          const body = { name: values("name").trim() };
          await api.call("PUT /instances/{id}/name", { path: { id }, body });
          announce(t`Renamed the instance.`);
          onDone();
        }}
      >
        <Field name="name" label={t`Name`} value={name} maxLength={128} />
      </Form>
    </Dialog>
  );
}

/** Groups and owner: what rules know the instance by, and who answers for it. */
export function GroupDialog({ instance, onClose, onDone }: InstanceDialogProps) {
  const proposal = instance.proposed_change;
  const initial = proposal ?? instance;
  const [owner, setOwner] = useState(initial.owner ?? "");
  const [groups, setGroups] = useState(initial.groups.join(", "));
  const save = async () => {
    const body = { groups: groupsIn(groups), owner: owner === "" ? null : owner };
    await api.call("PATCH /instances/{id}", { path: { id: instance.id }, body });
    onDone();
  };
  return (
    <Dialog
      title={t`Groups and owner`}
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>{t`Cancel`}</Button>
          <Button kind="primary" onPress={save}>
            {t`Save`}
          </Button>
        </>
      }
    >
      <p class="hint">
        {proposal === undefined
          ? t`They apply to new calls. If the policy requires two people, both must save them.`
          : t`This change is proposed. It takes effect when a second person saves it.`}
      </p>
      <label class="field">
        {t`Groups (separated by commas)`}
        <input
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={groups}
          onInput={(event) => setGroups(event.currentTarget.value)}
        />
      </label>
      <OwnerField label={t`Owner`} value={owner} onChange={setOwner} />
    </Dialog>
  );
}
