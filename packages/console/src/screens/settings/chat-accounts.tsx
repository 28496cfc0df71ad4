/** The chat accounts that decide as the signed-in user, and the code that links one. */

import type { ChatLink } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";

const PLATFORMS: Readonly<Record<string, string>> = {
  slack_app: "Slack",
  telegram: "Telegram",
  discord: "Discord",
  mattermost: "Mattermost",
};

export function ChatAccounts() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /chat-links", { signal }),
    "chat-links",
  );
  const [code, setCode] = useState<string>();
  return (
    <section class="panel" aria-labelledby="chat-title">
      <div class="panel-head">
        <h2 id="chat-title">{t`Chat accounts`}</h2>
        {may("decide") && (
          <Button onPress={async () => setCode((await api.call("POST /chat-codes")).code)}>
            {t`Create a code`}
          </Button>
        )}
      </div>
      <p class="hint">
        {t`A linked chat account decides as you, by the buttons of messages. To link yours, press \
a button of a message in the chat, and enter a code from here.`}
      </p>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {value?.links.length === 0 && (
        <Empty title={t`No chat accounts`}>{t`Your linked accounts appear here.`}</Empty>
      )}
      <ul class="rows">
        {value?.links.map((link) => (
          <Row key={link.id} link={link} onChange={reload} />
        ))}
      </ul>
      {code !== undefined && (
        <SecretOnce
          title={t`Code for your chat account`}
          what={t`code`}
          secret={code}
          hint={t`Enter it in the chat within 10 minutes. It works once. Keep it to yourself.`}
          onClose={() => {
            setCode(undefined);
            reload();
          }}
        />
      )}
    </section>
  );
}

function Row({ link, onChange }: { readonly link: ChatLink; onChange(): void }) {
  const { id, platform, team_id, user_id, user_name, reviewer, linked_at } = link;
  const account = team_id === "" ? user_id : t`${user_id} in ${team_id}`;
  return (
    <li>
      <div>
        <strong>
          {PLATFORMS[platform] ?? platform}: <Text>{user_name}</Text>
        </strong>
        <p class="hint">
          {rich`${<Text>{account}</Text>}, decides as ${<Text>{reviewer.name}</Text>}, linked \
${<When at={linked_at} />}`}
        </p>
      </div>
      <div class="actions">
        <Button
          kind="quiet"
          onPress={async () => {
            await api.call("DELETE /chat-links/{id}", { path: { id } });
            onChange();
          }}
        >
          {t`Unlink`} <span class="spoken">{user_name}</span>
        </Button>
      </div>
    </li>
  );
}
