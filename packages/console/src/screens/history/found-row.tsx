/** A row of the search results: the request, and the texts in which it matches. */

import type { FoundRequest, SearchField, SearchMatch } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { pathOfFound } from "../../live/request-address.ts";
import { Decider } from "../../parts/decider.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { When } from "../../parts/when.tsx";
import { CallLine } from "../../requests/call-line.tsx";
import { href } from "../../route.ts";

/** More matches make no row higher. */
const MATCHES_SHOWN = 2;

const FIELDS: Readonly<Record<SearchField, string>> = {
  tool: t`Tool`,
  arguments: t`Arguments`,
  note: t`Note`,
  person: t`Decided by`,
};

/** A found request; all of it leads to the request. */
export function FoundRow({ found }: { readonly found: FoundRequest }) {
  const { tool, server, instance, status, decided_by: decidedBy, decider, line, matches } = found;
  return (
    <a class="list-row ended" href={href(pathOfFound(found))}>
      <span class="ended-what">
        <span class="ended-name">
          <bdi class="ended-tool">
            <Text>{tool}</Text>
          </bdi>
          <span class="ended-server">
            {server !== undefined && (
              <>
                {rich`on ${(
                  <bdi>
                    <Text>{server}</Text>
                  </bdi>
                )}`}
                {" · "}
              </>
            )}
            <bdi>
              <Text>{instance.name}</Text>
            </bdi>
          </span>
        </span>
        {line !== undefined && <CallLine line={line} argumentsSource="" />}
        {matches.slice(0, MATCHES_SHOWN).map((match, index) => (
          <Match key={index} match={match} />
        ))}
      </span>
      <span class="ended-outcome">
        <StatusBadge status={status} />
      </span>
      <span class="ended-by">
        {decidedBy !== undefined && (
          <bdi>
            <Decider decided_by={decidedBy} decider={decider} />
          </bdi>
        )}
      </span>
      <span class="ended-at">
        <When at={found.decided_at ?? found.created_at} />
      </span>
    </a>
  );
}

function Match({ match: { field, excerpt } }: { readonly match: SearchMatch }) {
  return (
    <span class="ended-match">
      <span class="ended-field">{FIELDS[field]}:</span>{" "}
      <bdi>
        {excerpt.map(({ text, match }, index) =>
          match ? (
            <mark key={index} class="found">
              <Text>{text}</Text>
            </mark>
          ) : (
            <Text key={index}>{text}</Text>
          ),
        )}
      </bdi>
    </span>
  );
}
