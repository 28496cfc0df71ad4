/**
 * The command palette: opens screens, places of actions, instances, people, rules and requests. It
 * changes nothing.
 */

import "./palette.css";
import type { FoundRequest } from "@countersign/review-api";
import { ruleIdsIn } from "@countersign/review-api/policy-text";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { Text } from "../exact/text.tsx";
import { t } from "../language/t.ts";
import { pathOfFound } from "../live/request-address.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { may } from "../powers.ts";
import { go } from "../route.ts";
import { type Destination, destinations } from "./destinations.ts";
import { searchFor, useFound } from "./use-found.ts";

export interface PaletteProps {
  onClose(): void;
}

const REQUESTS: Readonly<Record<FoundRequest["status"], string>> = {
  pending: t`Request, pending`,
  approved: t`Request, approved`,
  denied: t`Request, denied`,
  expired: t`Request, expired`,
  cancelled: t`Request, cancelled`,
};

const SHOWN_MAX = 12;
const LISTED = "200";

export function Palette({ onClose }: PaletteProps) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const instances = useLoaded(
    (signal) => api.call("GET /instances", { query: { limit: LISTED }, signal }),
    "",
  ).value?.instances;
  const reviewers = useLoaded((signal) => api.call("GET /reviewers", { signal }), "").value
    ?.reviewers;
  const policy = useLoaded((signal) => api.call("GET /policy", { signal }), "").value;
  const requests = useFound(typed);
  const rules = policy !== undefined && "source" in policy ? ruleIdsIn(policy.source) : [];
  const named = { instances: instances ?? [], reviewers: reviewers ?? [], rules };
  const found = find(typed, destinations(named, may), requests);
  const current = Math.min(at, found.length - 1);
  useEffect(() => {
    document.getElementById(optionId(current))?.scrollIntoView({ block: "nearest" });
  }, [current]);

  function choose(destination: Destination | undefined): void {
    if (destination === undefined) return;
    onClose();
    go(destination.path);
  }

  function press(event: TargetedKeyboardEvent<HTMLInputElement>): void {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") setAt((current + 1) % found.length);
    else if (event.key === "ArrowUp") setAt((current + found.length - 1) % found.length);
    else if (event.key === "Enter") choose(found[current]);
    else return;
    event.preventDefault();
  }

  return (
    <Dialog title={t`Go to`} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label={t`Screen, action, name or words of a request`}
        aria-expanded={found.length > 0}
        aria-controls="palette-options"
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? optionId(current) : undefined}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id="palette-options" class="palette-options" role="listbox" aria-label={t`Destinations`}>
        {found.map((destination, index) => (
          <div
            key={`${destination.kind} ${destination.path} ${destination.text}`}
            id={optionId(index)}
            class="palette-option"
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => choose(destination)}
            onKeyDown={() => {}}
          >
            <bdi>
              <Text>{destination.text}</Text>
            </bdi>
            <span class="hint">{destination.kind}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function optionId(index: number): string {
  return `palette-option-${index}`;
}

function find(
  typed: string,
  all: readonly Destination[],
  requests: readonly FoundRequest[],
): Destination[] {
  const text = typed.trim();
  const wanted = text.toLowerCase();
  const found = all.filter((one) => one.text.toLowerCase().includes(wanted)).slice(0, SHOWN_MAX);
  if (text === "") return found;
  return [
    ...found,
    {
      path: `/history?${new URLSearchParams({ q: searchFor(text) })}`,
      text: t`All requests with ${text}`,
      kind: t`Search`,
    },
    {
      path: `/history?${new URLSearchParams({ tool: `${text}*` })}`,
      text: t`Tools that start with ${text}`,
      kind: t`History`,
    },
    // They arrive later, and must not move the selected entry.
    ...requests.map((request) => ({
      path: pathOfFound(request),
      text: request.line === undefined ? request.tool : `${request.tool}: ${request.line.text}`,
      kind: REQUESTS[request.status],
    })),
  ];
}
