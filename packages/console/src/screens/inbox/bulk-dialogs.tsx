/** Dialogs that confirm a decision on several calls. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { isLive } from "../../live/live.ts";
import { requests as known } from "../../live/pending-list.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { announce } from "../../parts/announce.tsx";
import { Button, messageOf } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { Scroller } from "../../parts/scroller.tsx";
import type { Failure } from "../../requests/for-each.ts";
import { compare } from "./bulk.ts";
import { type BulkVerdict, sendAll } from "./send.ts";

const NOTE_CHARS_MAX = 10_000;

export interface BulkProps {
  readonly requests: readonly PendingRequest[];
  /** All were sent. */
  onDone(): void;
  onClose(): void;
}

export function countOf(requests: readonly PendingRequest[]): string {
  return plural(requests.length, { one: "1 call", other: "# calls" });
}

interface Sending {
  readonly sent: number;
  readonly failures: readonly Failure[];
  send(verdict: BulkVerdict): Promise<void>;
}

/** Sends to those that are still open; the next press repeats what failed, if it still can. */
function useSending({ requests, onDone }: BulkProps): Sending {
  const [sent, setSent] = useState(0);
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  async function send(verdict: BulkVerdict): Promise<void> {
    if (!isLive.value) return;
    const left = failures.length === 0 ? requests : failures.filter(isRepeatable).map(requestOf);
    const open = left.filter(({ id }) => known.value.has(id));
    setFailures([]);
    const failed = await sendAll(open, verdict, () => setSent((count) => count + 1));
    setFailures(failed);
    if (failed.length > 0) return;
    if (verdict.verdict === "deny") announce(t`Denied ${countOf(open)}.`);
    onDone();
  }
  return { sent, failures, send };
}

/** False when the request has ended, even if the list does not show that yet. */
function isRepeatable({ error }: Failure): boolean {
  return !(error instanceof Refusal && error.code === "already_terminal");
}

function requestOf({ request }: Failure): PendingRequest {
  return request;
}

function Failures({ sent, failures }: Sending) {
  if (failures.length === 0) return null;
  return (
    <div class="alert" role="alert">
      <p>{t`${sent} sent, ${failures.length} not:`}</p>
      <ul>
        {failures.map(({ request, error }) => (
          <li key={request.id}>
            <Text>{request.tool}</Text> <OnServer server={request.server} />: {messageOf(error)}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function DenyDialog(props: BulkProps) {
  const { requests, onClose } = props;
  const [note, setNote] = useState("");
  const sending = useSending(props);
  const canDeny = note.trim() !== "" && isLive.value;
  const deny = () => sending.send({ verdict: "deny", note });
  return (
    <Dialog
      title={t`Deny ${countOf(requests)}`}
      onClose={onClose}
      onConfirm={() => void (canDeny && deny())}
    >
      <div class="field">
        <label for="deny-note">{t`Why, and what the agents should do instead`}</label>
        <textarea
          id="deny-note"
          rows={3}
          maxLength={NOTE_CHARS_MAX}
          value={note}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <p class="hint">{t`Every selected call gets this note.`}</p>
      </div>
      <Failures {...sending} />
      <footer class="dialog-foot">
        <Button kind="quiet" onPress={onClose}>
          {t`Cancel`}
        </Button>
        <Button kind="danger" disabled={!canDeny} onPress={deny}>
          {t`Deny ${countOf(requests)}`}
        </Button>
      </footer>
    </Dialog>
  );
}

export function ApproveDialog(props: BulkProps) {
  const { requests, onClose } = props;
  const [note, setNote] = useState("");
  const [hasSeenEnd, setSeenEnd] = useState(false);
  const sending = useSending(props);
  const [first] = requests;
  if (first === undefined) return null;
  const needsNote = requests.some(({ requirement }) => requirement.note === "required");
  const canApprove = hasSeenEnd && !(needsNote && note.trim() === "") && isLive.value;
  const approve = () => sending.send({ verdict: "approve", note });
  return (
    <Dialog
      title={t`Approve ${countOf(requests)}`}
      isWide
      onClose={onClose}
      onConfirm={() => void (canApprove && approve())}
    >
      <p>
        <strong>
          <Text>{first.tool}</Text>
        </strong>{" "}
        <OnServer server={first.server} />
        {rich`by ${<Text>{first.instance.name || first.instance.id}</Text>}`}
      </p>
      <Differences requests={requests} />
      <End onSeen={() => setSeenEnd(true)} />
      <div class="field">
        <label for="approve-note">{needsNote ? t`Note (required)` : t`Note (optional)`}</label>
        <textarea
          id="approve-note"
          rows={2}
          maxLength={NOTE_CHARS_MAX}
          value={note}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
      </div>
      <Failures {...sending} />
      <footer class="dialog-foot">
        <span class="hint">
          {hasSeenEnd
            ? t`You can undo for 5 seconds.`
            : t`To approve, scroll to the end of the calls.`}
        </span>
        <Button kind="quiet" onPress={onClose}>
          {t`Cancel`}
        </Button>
        <Button kind="primary" disabled={!canApprove} onPress={approve}>
          {t`Approve ${countOf(requests)}`}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Below the last call: nothing is approved that was never on the screen. */
function End({ onSeen }: { readonly onSeen: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(onSeen);
  latest.current = onSeen;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) latest.current();
    });
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  return <div class="end" ref={end} />;
}

/** Differences from call to call in a table, and what does not, once. */
function Differences({ requests }: { readonly requests: readonly PendingRequest[] }) {
  const { differing, same, rows } = compare(requests);
  return (
    <>
      {differing.length === 0 ? (
        <p class="hint">{t`Their arguments are identical.`}</p>
      ) : (
        <Scroller class="table-box" label={t`Differences`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t`Call`}</th>
                {differing.map((path) => (
                  <th key={path} scope="col">
                    <Text>{path}</Text>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((texts, index) => (
                <tr key={requests[index]?.id}>
                  <th scope="row">{requests[index]?.id.slice(-4)}</th>
                  {texts.map((text, column) => (
                    <td key={differing[column]}>
                      <Text>{text}</Text>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      {same.length > 0 && (
        <dl class="same">
          <dt class="hint">{t`Identical in all calls`}</dt>
          {same.map(({ path, source }) => (
            <dd key={path}>
              <code>
                <Text>{path}</Text>: <Text>{source}</Text>
              </code>
            </dd>
          ))}
        </dl>
      )}
    </>
  );
}
