/** Saved filters of the history, by name: open, save and remove. The server stores them. */

import { visibleText } from "@countersign/protocol";
import type { Preferences } from "@countersign/review-api";
import type { TargetedEvent } from "preact";
import { useId, useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { announce } from "../../parts/announce.tsx";
import { Button } from "../../parts/button.tsx";
import { Fault } from "../../parts/notice.tsx";
import { changeViews, preferences } from "../../preferences.ts";
import { href, route } from "../../route.ts";

/** As the server limits them. */
const VIEWS_MAX = 20;
const NAME_CHARS_MAX = 60;

type Views = Preferences["views"];

type Change = (change: (before: Views) => Views, result: string) => Promise<void>;

export function SavedViews() {
  const [error, setError] = useState<Error>();
  const { views } = preferences.value;
  const query = route.value.query.toString();
  const change: Change = async (changed, result) => {
    setError(undefined);
    try {
      await changeViews(changed);
      document.querySelector("h1")?.focus();
      announce(result);
    } catch (refusal) {
      setError(refusal as Error);
    }
  };
  const isSaved = views.some((view) => view.query === query);
  if (views.length === 0 && query === "") return null;
  return (
    <section class="views" aria-label={t`Saved views`}>
      {views.length > 0 && (
        <ul>
          {views.map(({ name, query: saved }) => (
            <li key={name}>
              <a
                href={href(`/history?${saved}`)}
                aria-current={saved === query ? "true" : undefined}
              >
                <Text>{name}</Text>
              </a>
              <Button
                kind="quiet"
                onPress={() =>
                  change(
                    (before) => before.filter((view) => view.name !== name),
                    t`Removed the view ${visibleText(name)}.`,
                  )
                }
              >
                {t`Remove`}
                <span class="spoken">{t` the view ${visibleText(name)}`}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      {query !== "" && !isSaved && views.length < VIEWS_MAX && (
        <SaveView
          onSave={(name) =>
            change(
              (before) => [...before.filter((view) => view.name !== name), { name, query }],
              t`Saved the view ${visibleText(name)}.`,
            )
          }
        />
      )}
      {error !== undefined && <Fault error={error} />}
    </section>
  );
}

/** The typed name stays when the server rejects it. */
function SaveView({ onSave }: { onSave(name: string): Promise<void> }) {
  const id = useId();
  const save = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = event.currentTarget.elements.namedItem("name");
    if (!(input instanceof HTMLInputElement)) return;
    await onSave(input.value.trim());
  };
  return (
    <form onSubmit={save}>
      <label for={id}>{t`Save these filters as`}</label>
      <input id={id} name="name" type="text" required maxLength={NAME_CHARS_MAX} />
      <button type="submit">{t`Save view`}</button>
    </form>
  );
}
