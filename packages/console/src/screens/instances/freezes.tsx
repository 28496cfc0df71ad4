/** Freezes: the active ones, creating one with a note, and lifting it. */

import type { Freeze } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type Loaded, useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";

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
  instance: "This instance is frozen",
  project: "This project is frozen",
  server: "The whole server is frozen",
};

export interface FreezeBannerProps {
  readonly freeze: Freeze;
  onLifted(): void;
}

/** Shows an active freeze with its start, its reason and the button to lift it. */
export function FreezeBanner({ freeze, onLifted }: FreezeBannerProps) {
  const [isConfirming, setConfirming] = useState(false);
  const { id, scope, note, frozen_at: at } = freeze;
  const lift = async () => {
    await api.call("POST /freezes/{id}/lift", { path: { id } });
    setConfirming(false);
    onLifted();
  };
  return (
    <div class="frozen" role="status">
      <Icon name="freeze" />
      <p>
        <strong>{COVERED[scope]}.</strong> All of its calls are denied since <When at={at} />.
        {note !== undefined && note !== "" && (
          <>
            {" "}
            <q>
              <Text>{note}</Text>
            </q>
          </>
        )}
      </p>
      {mayFreeze(scope) && <Button onPress={() => setConfirming(true)}>Lift the freeze</Button>}
      {isConfirming && (
        <Dialog
          title="Lift the freeze?"
          onClose={() => setConfirming(false)}
          actions={
            <>
              <Button onPress={() => setConfirming(false)}>Keep the freeze</Button>
              <Button kind="primary" onPress={lift}>
                Lift the freeze
              </Button>
            </>
          }
        >
          <p>Policy and reviewers decide new calls again. Denied calls stay denied.</p>
        </Dialog>
      )}
    </div>
  );
}

export interface FreezeButtonProps {
  readonly scope: Freeze["scope"];
  /** Exactly with the scope `instance`. */
  readonly instanceId?: string;
  readonly children: string;
  onFrozen(): void;
}

const WHAT: Readonly<Record<Freeze["scope"], string>> = {
  instance: "this instance",
  project: "all instances of this project",
  server: "all instances of all projects of this server",
};

interface Frozen {
  readonly denied: number;
  readonly complete: boolean;
}

function deniedWords(denied: number): string {
  if (denied === 0) return "Nothing was pending.";
  if (denied === 1) return "1 pending request was denied.";
  return `${denied} pending requests were denied.`;
}

/** Denies what is pending and all that comes, after a question. */
export function FreezeButton({ scope, instanceId, children, onFrozen }: FreezeButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const [frozen, setFrozen] = useState<Frozen>();
  const freeze = async () => {
    const body = {
      scope,
      ...(instanceId !== undefined && { instance_id: instanceId }),
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
          title={`${children}?`}
          onClose={close}
          actions={
            <>
              <Button onPress={close}>Cancel</Button>
              <Button kind="danger" onPress={freeze}>
                Freeze
              </Button>
            </>
          }
        >
          <p>
            All pending and new calls of {WHAT[scope]} are denied until the freeze is lifted. A
            freeze overrides policy, grants and reviewers.
          </p>
          <label class="field">
            Reason (agents read it)
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
        <Dialog title="Frozen" onClose={close} actions={<Button onPress={close}>Close</Button>}>
          <p>
            {deniedWords(frozen.denied)}
            {!frozen.complete && " The server continues to deny the remaining requests."}
          </p>
        </Dialog>
      )}
    </>
  );
}
