/** The webhook receiver of an instance: adding, testing and removing it. */

import { uuidV7 } from "@countersign/protocol";
import type { Instance, Receiver } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";
import { announce } from "../../parts/announce.tsx";
import { Button } from "../../parts/button.tsx";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Snippet } from "../../parts/snippet.tsx";
import { now } from "../../time.ts";
import { countWords } from "./wire.ts";

export interface ReceiverProps {
  readonly instance: Instance;
  /** Called when the receiver has changed. */
  onChanged(): void;
}

export function ReceiverActions({ instance, onChanged }: ReceiverProps) {
  const [isOpen, setOpen] = useState(false);
  const { id, name, receiver } = instance;
  const test = async () => {
    await api.call("POST /instances/{id}/receiver/test", { path: { id } });
    announce(t`The receiver gave a valid response to the test.`);
  };
  return (
    <div class="actions">
      <Button onPress={() => setOpen(true)}>{titleOf(receiver)}</Button>
      {receiver !== null && (
        <>
          <Button onPress={test}>{t`Send a test`}</Button>
          <ConfirmButton
            title={t`Remove the receiver of ${name}?`}
            consequence={endWords(receiver)}
            action={t`Remove receiver`}
            done={t`Removed the receiver.`}
            onConfirm={async () => {
              await api.call("DELETE /instances/{id}/receiver", { path: { id } });
              onChanged();
            }}
          >
            {t`Remove the receiver`}
          </ConfirmButton>
        </>
      )}
      {isOpen && (
        <ReceiverDialog
          instance={instance}
          onClose={() => setOpen(false)}
          onChanged={() => {
            setOpen(false);
            announce(t`The receiver is verified. Decisions go there.`);
            onChanged();
          }}
        />
      )}
    </div>
  );
}

function titleOf(receiver: Receiver | null): string {
  return receiver === null ? t`Add a receiver` : t`Change the receiver`;
}

function endWords({ waiting }: Receiver): string {
  return t`Its open deliveries (${countWords(waiting)}) end. The agent can poll for decisions.`;
}

const SECRET_BYTES = 32;

/** As the contract defines it. */
function newSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

function newRegistrationId(): string {
  return uuidV7(Math.floor(now.peek()), crypto.getRandomValues(new Uint8Array(10)));
}

interface ReceiverDialogProps extends ReceiverProps {
  onClose(): void;
}

function ReceiverDialog({ instance, onClose, onChanged }: ReceiverDialogProps) {
  const [secret] = useState(newSigningSecret);
  const [registration] = useState(newRegistrationId);
  const { id, receiver } = instance;
  return (
    <Dialog title={titleOf(receiver)} onClose={onClose}>
      <p class="hint">
        {t`Configure the receiver with these values first.`}{" "}
        {t`The server sends a challenge to its URL, and uses it only after a valid response.`}{" "}
        {t`The secret is displayed once.`}
      </p>
      <Snippet title={t`Signing secret`} text={secret} />
      <Snippet title={t`Registration id`} text={registration} />
      <Form
        submit={t`Verify and use`}
        onSubmit={async (values) => {
          const body = {
            url: values("url").trim(),
            registration_id: registration,
            signing_secret: secret,
          };
          await api.call("PUT /instances/{id}/receiver", { path: { id }, body });
          onChanged();
        }}
      >
        <Field name="url" label={t`URL of the receiver`} type="url" placeholder={t`https://`} />
      </Form>
    </Dialog>
  );
}
