/** Complete policies to start from. Each one is loaded when it is chosen. */

import type { PolicyPath } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";

interface Template {
  readonly title: string;
  load(): Promise<{ readonly default: string }>;
}

const TEMPLATES: Readonly<Record<PolicyPath, readonly Template[]>> = {
  policy: [
    {
      title: t`Coding agent`,
      load: () => import("@policy-templates/coding-agent.yaml?raw"),
    },
    {
      title: t`Support agent`,
      load: () => import("@policy-templates/support-agent.yaml?raw"),
    },
    {
      title: t`Database operator`,
      load: () => import("@policy-templates/database-operator.yaml?raw"),
    },
    {
      title: t`MCP gateway`,
      load: () => import("@policy-templates/mcp-gateway.yaml?raw"),
    },
  ],
  floor: [
    {
      title: t`Baseline`,
      load: () => import("@policy-templates/floor.yaml?raw"),
    },
  ],
};

interface TemplatesProps {
  readonly scope: PolicyPath;
  /** Whether a template would replace text that is not published. */
  readonly isChanged: boolean;
  /** Places the focus. */
  onChoose(source: string): void;
}

export function Templates({ scope, isChanged, onChoose }: TemplatesProps) {
  const [index, setIndex] = useState(0);
  const [asked, setAsked] = useState<Template>();
  const templates = TEMPLATES[scope];
  const [chosen, setChosen] = useState<{ readonly source: string }>();
  const use = async (template: Template) => {
    const { default: source } = await template.load();
    setAsked(undefined);
    setChosen({ source });
  };
  const latest = useRef(onChoose);
  latest.current = onChoose;
  // After the question has given the focus back.
  useEffect(() => {
    if (chosen !== undefined) latest.current(chosen.source);
  }, [chosen]);
  return (
    <div class="inline-form templates">
      <label>
        {t`Template`}{" "}
        <select value={index} onChange={(event) => setIndex(Number(event.currentTarget.value))}>
          {templates.map(({ title }, at) => (
            <option key={title} value={at}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Button
        onPress={async () => {
          const template = templates[index];
          if (template === undefined) return;
          if (isChanged) setAsked(template);
          else await use(template);
        }}
      >
        {t`Use template`}
      </Button>
      {asked !== undefined && (
        <Dialog
          title={t`Replace your draft?`}
          onClose={() => setAsked(undefined)}
          actions={
            <>
              <Button onPress={() => setAsked(undefined)}>{t`Cancel`}</Button>
              <Button kind="primary" onPress={() => use(asked)}>
                {t`Replace`}
              </Button>
            </>
          }
        >
          <p>
            {t`The template “${asked.title}” replaces the text of your draft.`}{" "}
            {t`Published versions stay.`}
          </p>
        </Dialog>
      )}
    </div>
  );
}
