import type { EndedRequest } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Decider } from "../../parts/decider.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { When } from "../../parts/when.tsx";
import { CallLine } from "../../requests/call-line.tsx";
import { href } from "../../route.ts";
import { second } from "../../time.ts";

/** One line of the history; all of it leads to the request. */
export function HistoryRow({ ended }: { readonly ended: EndedRequest }) {
  const { id, tool, server, instance, status, expires_at: expiresAt, note, line } = ended;
  return (
    <a class="list-row ended" href={href(`/history/${id}`)}>
      <span class="ended-what">
        <span class="ended-name">
          <bdi class="ended-tool">
            <Text>{tool}</Text>
          </bdi>
          {server !== undefined && (
            <bdi class="ended-server">{rich`on ${<Text>{server}</Text>}`}</bdi>
          )}
        </span>
        {line !== undefined && <CallLine line={line} argumentsSource="" />}
        <span class="ended-more">
          <bdi>
            <Text>{instance.name}</Text>
          </bdi>
          {note !== null && note !== "" && (
            <>
              {" · "}
              <q>
                <Text>{note}</Text>
              </q>
            </>
          )}
        </span>
      </span>
      <span class="ended-outcome">
        <StatusBadge status={status} />
        {expiresAt !== undefined && second.value >= Date.parse(expiresAt) && (
          <span class="hint">{t`approval expired`}</span>
        )}
      </span>
      <span class="ended-by">
        <bdi>
          <Decider {...ended} />
        </bdi>
      </span>
      <span class="ended-at">
        <When at={ended.decided_at} />
      </span>
    </a>
  );
}
