/** The requests of all projects that wait for the user. Each is decided in its own project. */

import type { Project } from "@countersign/review-api";
import { rich, t } from "../../language/t.ts";
import "./all.css";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { ListHead } from "../../parts/list-head.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { Page } from "../../parts/page.tsx";
import { TimeLeft } from "../../parts/time-left.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { addressOf } from "../../requests/address-of.ts";
import { CallLine } from "../../requests/call-line.tsx";
import { hrefIn } from "../../route.ts";
import { session } from "../../session.ts";
import { second } from "../../time.ts";
import { type AllPending, listAllPending, type ProjectRequest } from "./pending.ts";

const EVERY_MS = 10_000;

export function Screen() {
  const projects = session.value?.projects ?? [];
  const isAgain = useRef(false);
  const isRunning = useRef(false);
  const { value, error, reload } = useLoaded(
    (signal) => {
      const isBackground = isAgain.current;
      isAgain.current = true;
      isRunning.current = true;
      return listAllPending(projects, { isBackground, signal }).finally(() => {
        isRunning.current = signal.aborted && isRunning.current;
      });
    },
    projects.map(({ id }) => id).join(" "),
  );
  const refresh = useCallback(() => {
    // A slow project would never be listed.
    if (!isRunning.current) reload();
  }, [reload]);
  useReloads(refresh);
  return (
    <Page title={t`All projects`} lead={t`Requests that need your decision, in all your projects.`}>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <section class="panel" aria-label={t`Requests`} aria-busy={value === undefined && !error}>
        <ListHead onRefresh={reload}>{t`Earliest deadline first · updated every 10 s`}</ListHead>
        {value !== undefined && <Shown listed={value} />}
      </section>
    </Page>
  );
}

/** Regularly while the page is visible, and when it becomes visible. */
function useReloads(reload: () => void): void {
  useEffect(() => {
    const refresh = () => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(refresh, EVERY_MS);
    document.addEventListener("visibilitychange", refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", refresh);
    };
  }, [reload]);
}

function Shown({ listed: { requests, longer, failed } }: { readonly listed: AllPending }) {
  const rest = requests.filter(({ request }) => request.deadlineAt > second.value);
  return (
    <>
      {failed.map(({ id, name }) => (
        <p key={id} class="alert" role="alert">
          {rich`Could not read the project ${<Text>{name}</Text>}. Its requests are missing here.`}
        </p>
      ))}
      {rest.length === 0 && failed.length === 0 && (
        <Empty title={t`No request needs your decision`}>
          <p>
            {t`Requests appear here when a rule of one of your projects asks for your decision.`}
          </p>
        </Empty>
      )}
      <ul class="all">
        {rest.map((one) => (
          <Row key={one.request.id} {...one} />
        ))}
      </ul>
      {longer.map(({ id, name }) => (
        <p key={id} class="note">
          {rich`${<InboxLink id={id} name={name} />} has more requests.`}
        </p>
      ))}
    </>
  );
}

function InboxLink({ id, name }: Pick<Project, "id" | "name">) {
  return <a href={hrefIn(id, "/inbox")}>{rich`The inbox of ${<Text>{name}</Text>}`}</a>;
}

function Row({ project, request }: ProjectRequest) {
  const { tool, server, instance, deadlineAt } = request;
  return (
    <li>
      <a class="all-row" href={hrefIn(project.id, `/inbox/${addressOf(request)}`)}>
        <span class="all-what">
          <bdi class="all-tool">
            <Text>{tool}</Text>
          </bdi>
          <OnServer server={server} />
        </span>
        <TimeLeft until={deadlineAt} />
        <CallLine line={request.line} argumentsSource={request.argumentsSource} />
        <span class="all-foot">
          <span class="badge">
            <span class="spoken">{t`Project:`} </span>
            <Text>{project.name}</Text>
          </span>
          <bdi class="hint">
            <Text>{instance.name || instance.id}</Text>
          </bdi>
        </span>
      </a>
    </li>
  );
}
