/**
 * The credential of an instance and the commands that connect an agent of the chosen kind. The
 * caller owns the credential: this module does not store it.
 */

import { useState } from "preact/hooks";
import { t } from "../language/t.ts";
import { urlOf } from "../root.ts";
import { CONNECTIONS } from "./connect-texts.ts";
import { Snippet } from "./snippet.tsx";

export function ConnectSnippets({ credential }: { readonly credential: string }) {
  const [chosen, setChosen] = useState(0);
  const url = urlOf("").replace(/\/$/, "");
  const connection = CONNECTIONS[chosen];
  return (
    <div class="stack">
      <Snippet title={t`Credential`} text={credential} />
      <label class="field">
        {t`Agent`}
        <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          {CONNECTIONS.map(({ value, title }, index) => (
            <option key={value} value={index}>
              {title}
            </option>
          ))}
        </select>
        <span class="hint">{connection?.hint}</span>
      </label>
      {connection?.texts(url).map(({ title, text }) => (
        <Snippet key={title} title={title} text={text} />
      ))}
    </div>
  );
}
