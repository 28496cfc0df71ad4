/** Questions before an instance is changed or deleted. */

import type { Instance } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { signInUrl } from "../../root.ts";
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
  const [isStale, setStale] = useState(false);
  const remove = async () => {
    try {
      await api.call("DELETE /instances/{id}", { path: { id } });
    } catch (error) {
      setStale(error instanceof Refusal && error.status === 403);
      throw error;
    }
    onDone();
  };
  return (
    <Dialog
      title="Delete this instance?"
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="danger" disabled={typed !== name} onPress={remove}>
            Delete permanently
          </Button>
        </>
      }
    >
      <p>
        Its credential is revoked immediately, its deliveries stop, and{" "}
        {pending === 0
          ? "it has no pending requests"
          : `its pending requests (${countWords(pending)}) are cancelled`}
        . This cannot be undone.
      </p>
      <label class="field">
        <span>
          Type{" "}
          <strong>
            <Text>{name}</Text>
          </strong>{" "}
          to confirm
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
      {isStale && (
        <p>
          <a href={signInUrl()}>Sign in again</a>
        </p>
      )}
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
      title="Groups and owner"
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="primary" onPress={save}>
            Save
          </Button>
        </>
      }
    >
      <p class="hint">
        {proposal === undefined
          ? "They apply to new calls. If the policy requires two people, both must save them."
          : "This change is proposed. It takes effect when a second person saves it."}
      </p>
      <label class="field">
        Groups (separated by commas)
        <input
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={groups}
          onInput={(event) => setGroups(event.currentTarget.value)}
        />
      </label>
      <OwnerField label="Owner" value={owner} onChange={setOwner} />
    </Dialog>
  );
}
