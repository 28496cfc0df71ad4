/** The frame of all screens: navigation, who is signed in, and the open screen. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Text } from "./exact/text.tsx";
import { rich, t } from "./language/t.ts";
import { startLive } from "./live/live.ts";
import { ProposalCount } from "./live/proposals.tsx";
import { Banners, ConnectionState, MineCount } from "./live/status.tsx";
import { UndoBar } from "./live/undo-bar.tsx";
import { mark } from "./mark.ts";
import { OpenPalette } from "./palette/open-palette.tsx";
import { Announcements } from "./parts/announce.tsx";
import { Icon } from "./parts/icon.tsx";
import { KeysHelp, openKeysHelp } from "./parts/keys.tsx";
import { may } from "./powers.ts";
import { NoProject, ProjectSwitcher } from "./projects.tsx";
import { roleName } from "./role-names.ts";
import { href, route } from "./route.ts";
import { findScreen, SCREENS, type Screen, type ScreenEntry } from "./screens.ts";
import { isOffline, session } from "./session.ts";
import { StepUpDialog } from "./sign-in/step-up.tsx";

export function App() {
  const who = session.value;
  const { path } = route.value;
  const project = who?.project ?? undefined;
  useLive(who?.session.id, project?.id);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {t`Skip to content`}
      </a>
      <header class="rail">
        <a class="brand" href={href("/inbox")}>
          <img src={mark} alt="" width="26" height="26" /> <span>Countersign</span>
        </a>
        {project !== undefined && <ConnectionState />}
        {who !== undefined && who.projects.length > 1 && <ProjectSwitcher who={who} />}
        <nav aria-label={t`Screens`}>
          {SCREENS.filter(({ power }) => power === undefined || may(power)).map((entry) => (
            <NavLink
              key={entry.path}
              entry={entry}
              isOpen={`/${path.split("/")[1]}` === entry.path}
            />
          ))}
        </nav>
        {who !== undefined && (
          <p class="who">
            <Text>{who.person.name || who.person.login}</Text>
            {who.project !== null && (
              <span class="hint">
                <Text>{who.project.name}</Text> · {roleName(who.project.role)}
              </span>
            )}
          </p>
        )}
        {project !== undefined && <OpenPalette />}
        <button type="button" class="quiet keys-button" onClick={openKeysHelp}>
          {rich`Keys ${<kbd>?</kbd>}`}
        </button>
      </header>
      {/* The styles of a screen hold below its name and nowhere else. */}
      <main id="main" data-screen={findScreen(path)?.entry.name}>
        {project !== undefined && <Banners />}
        {who === undefined ? <Waiting /> : <Opened hasProject={project !== undefined} />}
      </main>
      <Announcements />
      <UndoBar />
      <KeysHelp />
      <StepUpDialog />
    </div>
  );
}

/** A session that is loaded again keeps its stream: only another id starts another one. */
function useLive(sessionId: string | undefined, projectId: string | undefined): void {
  useEffect(() => {
    if (sessionId === undefined || projectId === undefined) return;
    return startLive(sessionId, projectId);
  }, [sessionId, projectId]);
}

function NavLink({ entry, isOpen }: { readonly entry: ScreenEntry; readonly isOpen: boolean }) {
  return (
    <a href={href(entry.path)} aria-current={isOpen ? "page" : undefined}>
      <Icon name={entry.path.slice(1)} />
      <span>{entry.title}</span>
      {entry.path === "/inbox" && <MineCount />}
      {entry.path === "/policies" && may("publish") && (
        <ProposalCount key={session.value?.project?.id} />
      )}
    </a>
  );
}

function Waiting() {
  return (
    <p class="waiting" role="status">
      {isOffline.value
        ? t`Could not reach the server. You cannot approve or deny until it answers.`
        : t`Waiting for the server…`}
    </p>
  );
}

/**
 * After a link, the focus moves to the heading of the new screen: otherwise it would be lost with
 * the old one. A screen may have placed it already.
 */
function useFocusOnHeading(path: string, isLoaded: boolean): void {
  const opened = useRef(path);
  useEffect(() => {
    if (!isLoaded || opened.current === path) return;
    opened.current = path;
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.closest(".rail") !== null;
    if (isFree) document.querySelector<HTMLElement>("#main h1")?.focus({ preventScroll: true });
  }, [path, isLoaded]);
}

/** The screen of the address; the one before stays until the script of the next is there. */
function Opened({ hasProject }: { readonly hasProject: boolean }) {
  const found = findScreen(route.value.path);
  const [loaded, setLoaded] = useState<{ readonly entry: ScreenEntry; readonly Screen: Screen }>();
  const [fault, setFault] = useState(false);
  const entry = found?.entry;
  // A screen that stays open places the focus itself.
  const opened = entry?.isKept === true ? entry.path : route.value.path;
  useFocusOnHeading(opened, loaded?.entry === entry);
  useEffect(() => {
    let isCurrent = true;
    setFault(false);
    entry?.load().then(
      ({ Screen }) => isCurrent && setLoaded({ entry, Screen }),
      () => isCurrent && setFault(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [entry]);
  if (found === undefined) return <NoScreen />;
  const isOwnSettings = found.entry.path === "/settings" && route.value.project === undefined;
  if (!hasProject && !isOwnSettings) return <NoProject />;
  if (fault) return <p class="alert">{t`This screen could not be loaded. Reload the page.`}</p>;
  if (loaded === undefined || loaded.entry !== found.entry) return <Waiting />;
  return (
    <loaded.Screen
      key={found.entry.isKept === true ? "" : found.rest}
      route={route.value}
      rest={found.rest}
    />
  );
}

function NoScreen() {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t`Page not found`}</h1>
      <p>
        <a href={href("/inbox")}>{t`Go to the inbox`}</a>
      </p>
    </div>
  );
}
