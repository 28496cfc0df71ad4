/** Settings: one's own account first, then the people, tokens and channels of the project. */

import "./settings.css";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Page } from "../../parts/page.tsx";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { session } from "../../session.ts";
import { ChannelSettings } from "./channels.tsx";
import { PeopleSettings } from "./people.tsx";
import { ProfileSettings } from "./profile.tsx";
import { TokenSettings } from "./tokens.tsx";

const TABS = [
  ["", t`You`],
  ["people", t`People`],
  ["tokens", t`Tokens`],
  ["channels", t`Channels`],
] as const;

export function Screen({ rest }: ScreenProps) {
  const project = session.value?.project;
  const tabs = project === null ? TABS.slice(0, 1) : TABS;
  return (
    <Page title={t`Settings`}>
      <nav class="tabs" aria-label={t`Settings of`}>
        {tabs.map(([path, title]) => (
          <a
            key={path}
            href={href(path === "" ? "/settings" : `/settings/${path}`)}
            aria-current={rest === path ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {rest !== "" && project !== undefined && project !== null && (
        <p class="lead">{rich`Project: ${<Text>{project.name}</Text>}.`}</p>
      )}
      <Tab name={rest} />
    </Page>
  );
}

function Tab({ name }: { readonly name: string }) {
  switch (name) {
    case "":
      return <ProfileSettings />;
    case "people":
      return <PeopleSettings />;
    case "tokens":
      return <TokenSettings />;
    case "channels":
      return <ChannelSettings />;
    default:
      return <p>{t`Page not found.`}</p>;
  }
}
