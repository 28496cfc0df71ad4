/** Freezes: the active ones, creating one with a note, and lifting it. */

import type { Freeze, Instance } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type Loaded, useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { countWords } from "./wire.ts";

/** The active freezes of the server, the project and the instances. */
export function useFreezes(): Loaded<readonly Freeze[]> {
  return useLoaded(async (signal) => {
    const query = { state: "in_force", limit: "200" } as const;
    return (await api.call("GET /freezes", { query, signal })).freezes;
  }, "");
}

export function mayFreeze(scope: Freeze["scope"]): boolean {
  return may("freeze") && (scope !== "server" || may("server"));
}

const COVERED: Readonly<Record<Freeze["scope"], string>> = {
  instance: t`This instance is frozen.`,
  project: t`This project is frozen.`,
  server: t`The whole server is frozen.`,
};

export interface FreezeBannerProps {
  readonly freeze: Freeze;
  onLifted(): void;
}

/** Shows an active freeze with its start, its reason and the button to lift it. */
export function FreezeBanner({ freeze, onLifted }: FreezeBannerProps) {
  const { id, scope, note, frozen_at: at } = freeze;
  return (
    <div class="frozen" role="status">
      <Icon name="freeze" />
      <p>
        <strong>{COVERED[scope]}</strong>{" "}
        {rich`All of its calls are denied since ${<When at={at} />}.`}
        {note !== undefined && note !== "" && (
          <>
            {" "}
            <q>
              <Text>{note}</Text>
            </q>
          </>
        )}
      </p>
      {mayFreeze(scope) && (
        <ConfirmButton
          kind="plain"
          title={t`Lift the freeze?`}
          consequence={t`Policy and reviewers decide new calls again. Denied calls stay denied.`}
          action={t`Lift the freeze`}
          done={t`The freeze is lifted.`}
          onConfirm={async () => {
            await api.call("POST /freezes/{id}/lift", { path: { id } });
            onLifted();
          }}
        >
          {t`Lift the freeze`}
        </ConfirmButton>
      )}
    </div>
  );
}

export interface FreezeButtonProps {
  readonly scope: Freeze["scope"];
  /** Exactly with the scope `instance`. */
  readonly instance?: Pick<Instance, "id" | "name" | "pending">;
  readonly children: string;
  onFrozen(): void;
}

function questionOf(scope: Freeze["scope"]): string {
  return scope === "server" ? t`Freeze the server?` : t`Freeze the project?`;
}

function consequenceOf(scope: Freeze["scope"]): string {
  return scope === "server"
    ? t`All pending and new calls of all instances of all projects of this server are denied \
until the freeze is lifted.`
    : t`All pending and new calls of all instances of this project are denied \
until the freeze is lifted.`;
}

function consequenceFor({ name, pending }: Pick<Instance, "name" | "pending">) {
  const instance = (
    <strong>
      <Text>{name}</Text>
    </strong>
  );
  return rich`All pending (${countWords(pending)}) and new calls of ${instance} are denied \
until the freeze is lifted.`;
}

interface Frozen {
  readonly denied: number;
  readonly complete: boolean;
}

function deniedWords(denied: number): string {
  if (denied === 0) return t`Nothing was pending.`;
  return plural(denied, {
    one: "1 pending request was denied.",
    other: "# pending requests were denied.",
  });
}

/** Denies what is pending and all that comes, after a question. */
export function FreezeButton({ scope, instance, children, onFrozen }: FreezeButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const [frozen, setFrozen] = useState<Frozen>();
  const freeze = async () => {
    const body = {
      scope,
      ...(instance !== undefined && { instance_id: instance.id }),
      ...(note.trim() !== "" && { note: note.trim() }),
    };
    setFrozen(await api.call("POST /freezes", { body }));
  };
  const close = () => {
    setOpen(false);
    setNote("");
    if (frozen === undefined) return;
    setFrozen(undefined);
    // Only now: an active freeze removes this button and with it the message.
    onFrozen();
  };
  return (
    <>
      <Button onPress={() => setOpen(true)}>
        <Icon name="freeze" /> {children}
      </Button>
      {isOpen && frozen === undefined && (
        <Dialog
          title={instance === undefined ? questionOf(scope) : t`Freeze ${instance.name}?`}
          onClose={close}
          actions={
            <>
              <Button onPress={close}>{t`Cancel`}</Button>
              <Button kind="danger" onPress={freeze}>
                {t`Freeze`}
              </Button>
            </>
          }
        >
          <p>
            {instance === undefined ? consequenceOf(scope) : consequenceFor(instance)}{" "}
            {t`A freeze overrides policy, grants and reviewers.`}
          </p>
          <label class="field">
            {t`Reason (agents read it)`}
            <textarea
              rows={2}
              maxLength={2_000}
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
            />
          </label>
        </Dialog>
      )}
      {isOpen && frozen !== undefined && (
        <Dialog
          title={t`Frozen`}
          onClose={close}
          actions={<Button onPress={close}>{t`Close`}</Button>}
        >
          <p>
            {deniedWords(frozen.denied)}
            {!frozen.complete && ` ${t`The server continues to deny the remaining requests.`}`}
          </p>
        </Dialog>
      )}
    </>
  );
}
