/** Creates a token of a user or a bot, and displays it once. */

import type { ReviewerRole } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";
import { Checks, Choice, Field, Form, type Values, wordsOf } from "../../parts/form.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { ROLES } from "./people.tsx";

const SCOPES = [
  ["read", t`Read requests, history and policies`],
  ["decide", t`Approve and deny`],
  ["freeze", t`Freeze calls`],
  ["policy", t`Publish policies`],
  ["people", t`Manage people, tokens, channels and instances`],
  ["audit", t`Read the audit log`],
] as const;

const OTHER = "other";

const DURATIONS = [
  ["", t`Never`],
  ["24h", t`After 1 day`],
  ["168h", t`After 7 days`],
  ["720h", t`After 30 days`],
  ["2160h", t`After 90 days`],
  ["8760h", t`After 1 year`],
  [OTHER, t`After another time`],
] as const;

export function NewToken({ onMade }: { onMade(): void }) {
  const [token, setToken] = useState<string>();
  const [expiry, setExpiry] = useState("");
  return (
    <section class="panel" aria-labelledby="new-token-title">
      <h2 id="new-token-title">{t`New token`}</h2>
      <Form
        submit={t`Create a token`}
        onSubmit={async (values) => {
          const made = await api.call("POST /tokens", { body: orderOf(values) });
          setToken(made.token);
          setExpiry("");
          onMade();
        }}
      >
        <Field
          name="name"
          label={t`Bot name (optional)`}
          maxLength={100}
          hint={t`Leave empty for a personal token. A new name creates a bot.`}
        />
        <Choice name="role" label={t`Role of a new bot`} value="reviewer" options={ROLES} />
        <Checks
          name="scopes"
          label={t`Limit the access (optional)`}
          hint={t`Without a selection, the token has the full access of the role.`}
          options={SCOPES}
        />
        <Field
          name="groups"
          label={t`Approve and deny only for groups (optional)`}
          hint={t`Separate with commas. This limits the access, too.`}
        />
        <Choice
          name="expiry"
          label={t`Expires`}
          value=""
          options={DURATIONS}
          onChange={(chosen) => setExpiry(chosen)}
        />
        {expiry === OTHER && (
          <Field name="expires_in" label={t`Expires after`} hint={t`For example 36h or 90m.`} />
        )}
      </Form>
      {token !== undefined && (
        <SecretOnce
          title={t`The token`}
          what={t`token`}
          secret={token}
          hint={t`Displayed once. Anyone who has this token has its permissions.`}
          onClose={() => setToken(undefined)}
        />
      )}
    </section>
  );
}

function orderOf(values: Values) {
  const chosen = SCOPES.map(([scope]) => scope).filter((scope) => values(`scopes.${scope}`) !== "");
  const groups = wordsOf(values("groups")).map((group) => `decide:${group}`);
  const scopes = [...chosen, ...groups];
  const name = values("name").trim();
  const expiry = values("expiry");
  const ends = expiry === OTHER ? values("expires_in").trim() : expiry;
  return {
    ...(name !== "" && { name, role: values("role") as ReviewerRole }),
    ...(scopes.length > 0 && { scopes }),
    ...((ends !== "" || expiry === OTHER) && { expires_in: ends }),
  };
}
