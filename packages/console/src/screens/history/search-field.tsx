/** Full-text search over the requests; its text is in the address. */

import type { TargetedEvent } from "preact";
import { useId } from "preact/hooks";
import { t } from "../../language/t.ts";
import { changeQuery } from "../../parts/query.ts";
import { route } from "../../route.ts";

/** As the server limits it. */
const CHARS_MAX = 200;

export function SearchField() {
  const id = useId();
  const hint = useId();
  const search = (input: HTMLInputElement) => changeQuery({ q: input.value.trim() });
  return (
    <search class="full-text">
      <form
        onSubmit={(event: TargetedEvent<HTMLFormElement>) => {
          event.preventDefault();
          const input = event.currentTarget.elements.namedItem("q");
          if (input instanceof HTMLInputElement) search(input);
        }}
      >
        <label for={id}>{t`Search all requests`}</label>
        <input
          id={id}
          name="q"
          type="search"
          maxLength={CHARS_MAX}
          autocomplete="off"
          spellcheck={false}
          aria-describedby={hint}
          value={route.value.query.get("q") ?? ""}
          onChange={(event) => search(event.currentTarget)}
        />
      </form>
      <p id={hint} class="hint">
        {t`Tool, arguments, notes and names.`}{" "}
        {t`Use quotation marks for a phrase and refund* for the start of a word.`}
      </p>
    </search>
  );
}
