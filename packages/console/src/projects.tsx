/** The projects of the user: links to them, because each has pages of its own. */

import "./projects.css";
import type { Session } from "@countersign/review-api";
import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { Text } from "./exact/text.tsx";
import { t } from "./language/t.ts";
import { urlOf } from "./root.ts";
import { hereIn, href, hrefIn } from "./route.ts";
import { session } from "./session.ts";

/** The name of the open project. It unfolds to links to the others. */
export function ProjectSwitcher({ who: { project, projects } }: { readonly who: Session }) {
  return (
    <details class="projects" onClick={closeOnLink} onKeyDown={closeOnEscape}>
      <summary>
        <span class="spoken">{t`Project: `}</span>
        <span class="projects-name">
          <Text>{project?.name ?? t`Projects`}</Text>
        </span>
      </summary>
      <ul aria-label={t`Projects`}>
        {projects.map(({ id, name }) => (
          <li key={id}>
            <a href={hrefIn(id, "/inbox")} aria-current={id === project?.id ? "true" : undefined}>
              <Text>{name}</Text>
            </a>
          </li>
        ))}
        {project !== null && (
          <li>
            <a href={href("/all")}>{t`All projects`}</a>
          </li>
        )}
      </ul>
    </details>
  );
}

/** Some links stay in this page. A screen that opens something else by itself closes nothing. */
function closeOnLink({ currentTarget, target }: TargetedMouseEvent<HTMLDetailsElement>): void {
  if (target instanceof Element && target.closest("a") !== null) currentTarget.open = false;
}

/** The screen below keeps what it does with this key. */
function closeOnEscape(event: TargetedKeyboardEvent<HTMLDetailsElement>): void {
  const { currentTarget, key } = event;
  if (key !== "Escape" || !currentTarget.open) return;
  event.stopPropagation();
  currentTarget.open = false;
  currentTarget.querySelector("summary")?.focus();
}

/** Instead of a screen, where the user is not a member of the project in the address. */
export function NoProject() {
  const projects = session.value?.projects ?? [];
  if (projects.length === 0) {
    return (
      <div class="page">
        <h1 tabIndex={-1}>{t`No project`}</h1>
        <p>{t`You are not a member of any project. Ask an administrator for an invitation.`}</p>
        <p>
          <a href={urlOf("settings")}>{t`Open your account`}</a>
        </p>
      </div>
    );
  }
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t`Project not found`}</h1>
      <p>
        {t`You are not a member of the project in this address, or it does not exist.`}{" "}
        {t`Open one of your projects:`}
      </p>
      <div class="actions">
        {projects.map(({ id, name }) => (
          <a key={id} class="button" href={hereIn(id)}>
            <Text>{name}</Text>
          </a>
        ))}
      </div>
    </div>
  );
}
