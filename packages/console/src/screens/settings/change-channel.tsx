/** Changes which messages a channel sends, and replaces its address with all secrets of it. */

import type { Channel } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";
import { announce } from "../../parts/announce.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form, type Values } from "../../parts/form.tsx";
import { MessageFields, messagesOf, TargetFields, targetOf } from "./channel-fields.tsx";

export interface ChangeChannelProps {
  readonly channel: Channel;
  onClose(): void;
  /** @param changed has the signing secret, if the server made a new one */
  onDone(changed: { readonly signing_secret?: string | undefined }): void;
}

export function ChangeChannel({ channel, onClose, onDone }: ChangeChannelProps) {
  const { id, name, kind, decide } = channel;
  const [replaces, setReplaces] = useState(false);
  return (
    <Dialog title={t`Change the channel ${name}`} onClose={onClose}>
      <Form
        submit={t`Save`}
        onSubmit={async (values) => {
          const target = replaces ? targetOf(kind, values) : {};
          const body = { ...target, ...changedMessages(channel, values) };
          onDone(await api.call("PATCH /channels/{id}", { path: { id }, body }));
          announce(t`Changed the channel ${name}.`);
          onClose();
        }}
      >
        <MessageFields channel={channel} />
        <label class="check">
          <input
            type="checkbox"
            checked={replaces}
            onChange={({ currentTarget }) => setReplaces(currentTarget.checked)}
          />
          {t`Replace the address and all its secrets`}
        </label>
        {replaces && <TargetFields kind={kind} decides={decide} />}
      </Form>
    </Dialog>
  );
}

/** Without what the user left as it was: another user may have changed it. */
function changedMessages(channel: Channel, values: Values) {
  const { groups, digest, remind_before, on_decision } = messagesOf(values);
  return {
    ...(groups.join() !== channel.groups.join() && { groups }),
    ...(digest !== (channel.digest ?? "off") && { digest }),
    ...(remind_before !== (channel.remind_before ?? "off") && { remind_before }),
    ...(on_decision !== channel.on_decision && { on_decision }),
  };
}
