/** Replaces the credential of an instance, and shows the new one, this once. */

import type { Instance } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { exactTime } from "../../parts/time-words.ts";

/** Values of the server, and their words. */
const OVERLAPS = [
  ["1h", t`1 hour`],
  ["24h", t`24 hours`],
  ["168h", t`7 days`],
  ["720h", t`30 days`],
  ["", t`Not at all: revoke it now`],
] as const;

export interface RotateDialogProps {
  readonly instance: Instance;
  onClose(): void;
}

export function RotateDialog({ instance: { id, name }, onClose }: RotateDialogProps) {
  const [overlap, setOverlap] = useState<string>("24h");
  const [rotated, setRotated] = useState<{ secret: string; until: string }>();
  const rotate = async () => {
    const body = overlap === "" ? {} : { overlap };
    const path = { id };
    const made = await api.call("POST /instances/{id}/credential", { path, body });
    setRotated({ secret: made.credential, until: made.earlier_until });
  };
  if (rotated !== undefined) {
    const earlier =
      overlap === ""
        ? t`The earlier credential is revoked.`
        : t`The earlier credential is valid until ${exactTime(Date.parse(rotated.until))}.`;
    return (
      <SecretOnce
        title={t`The new credential`}
        what={t`credential`}
        secret={rotated.secret}
        hint={`${t`Displayed once. Store it where the agent runs.`} ${earlier}`}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={t`Rotate the credential of ${name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>{t`Cancel`}</Button>
          <Button kind="danger" onPress={rotate}>
            {t`Rotate credential`}
          </Button>
        </>
      }
    >
      <p>
        {rich`The server creates a new credential for ${(
          <strong>
            <Text>{name}</Text>
          </strong>
        )}. Without it, the agent stops when the earlier one ends.`}
      </p>
      <label class="field">
        {t`Validity of the earlier credential`}
        <select value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
          {OVERLAPS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </Dialog>
  );
}
