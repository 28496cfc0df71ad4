/** The frame of all screens: navigation, who is signed in, and the open screen. */

import { useEffect, useState } from "preact/hooks";
import { Text } from "./exact/text.tsx";
import { startLive } from "./live/live.ts";
import { ProposalCount } from "./live/proposals.tsx";
import { Banners, ConnectionState, MineCount } from "./live/status.tsx";
import { mark } from "./mark.ts";
import { Icon } from "./parts/icon.tsx";
import { KeysHelp, openKeysHelp } from "./parts/keys.tsx";
import { may } from "./powers.ts";
import { href, route } from "./route.ts";
import { findScreen, SCREENS, type Screen, type ScreenEntry } from "./screens.ts";
import { isOffline, session } from "./session.ts";

export function App() {
  const who = session.value;
  const { path } = route.value;
  const project = who?.project ?? undefined;
  useLive(who?.session.id, project?.id);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="rail">
        <a class="brand" href={href("/inbox")}>
          <img src={mark} alt="" width="26" height="26" /> <span>Countersign</span>
        </a>
        {project !== undefined && <ConnectionState />}
        <nav aria-label="Screens">
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
                <Text>{who.project.name}</Text> · {who.project.role}
              </span>
            )}
          </p>
        )}
        <button type="button" class="quiet keys-button" onClick={openKeysHelp}>
          Keys <kbd>?</kbd>
        </button>
      </header>
      {/* The styles of a screen hold below its name and nowhere else. */}
      <main id="main" data-screen={findScreen(path)?.entry.title.toLowerCase()}>
        <Banners />
        {who === undefined ? <Waiting /> : <Opened />}
      </main>
      <KeysHelp />
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
        ? "Could not reach the server. You cannot approve or deny until it answers."
        : "Waiting for the server…"}
    </p>
  );
}

/** The screen of the address; the one before stays until the script of the next is there. */
function Opened() {
  const found = findScreen(route.value.path);
  const [loaded, setLoaded] = useState<{ readonly entry: ScreenEntry; readonly Screen: Screen }>();
  const [fault, setFault] = useState(false);
  const entry = found?.entry;
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
  if (fault) return <p class="alert">This screen could not be loaded. Reload the page.</p>;
  if (loaded === undefined || loaded.entry !== found.entry) return <Waiting />;
  return <loaded.Screen key={found.rest} route={route.value} rest={found.rest} />;
}

function NoScreen() {
  return (
    <div class="page">
      <h1>Page not found</h1>
      <p>
        <a href={href("/inbox")}>Go to the inbox</a>
      </p>
    </div>
  );
}
