/** Where a policy is written: the text editor, which is loaded on demand. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Scroller } from "../../parts/scroller.tsx";
import type { CodeEditor, Findings, Place } from "./code-editor.ts";
import type { Checked } from "./draft.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** For a screen that puts the cursor of its editor somewhere. */
export interface EditorHandle {
  show(place: Place): void;
}

export interface EditorProps {
  readonly source: string;
  readonly isReadOnly: boolean;
  readonly checked: Checked | undefined;
  readonly vocabulary: Vocabulary;
  readonly handle: { current: EditorHandle | undefined };
  onInput(source: string): void;
}

export function Editor(props: EditorProps) {
  const { source, isReadOnly, checked, handle } = props;
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor>();
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    let opened: CodeEditor | undefined;
    let isClosed = false;
    const open = async () => {
      const { openEditor } = await import("./code-editor.ts");
      if (isClosed || host.current === null) return;
      opened = openEditor(host.current, {
        source: latest.current.source,
        isReadOnly: latest.current.isReadOnly,
        vocabulary: () => latest.current.vocabulary,
        onInput: (text) => latest.current.onInput(text),
      });
      setEditor(opened);
    };
    open().catch(() => setBroken(true));
    return () => {
      isClosed = true;
      opened?.close();
    };
  }, []);
  // Before the next key: what was typed meanwhile would be lost.
  useLayoutEffect(() => editor?.setText(source), [editor, source]);
  useLayoutEffect(() => editor?.setReadOnly(isReadOnly), [editor, isReadOnly]);
  useEffect(() => {
    if (checked !== undefined) editor?.setFindings(checked.source, findingsOf(checked));
  }, [editor, checked]);
  useLayoutEffect(() => {
    handle.current = editor;
  }, [editor, handle]);
  const complete = (
    <>
      <kbd>{t`Ctrl`}</kbd>+<kbd>{t`Space`}</kbd>
    </>
  );
  return (
    <div>
      {isBroken && (
        <p class="alert" role="alert">
          {t`Could not load the editor. Reload the page.`}
        </p>
      )}
      {editor === undefined && (
        <Scroller class="policy-source" label={t`Policy text`}>
          <pre>
            <Text>{source}</Text>
          </pre>
        </Scroller>
      )}
      <div class="policy-editor" ref={host} hidden={editor === undefined} />
      {!isReadOnly && (
        <p class="hint">
          {rich`${<kbd>Tab</kbd>} leaves the editor, ${complete} completes a word.`}
        </p>
      )}
    </div>
  );
}

function findingsOf({ check }: Checked): Findings {
  return { errors: check?.findings ?? [], warnings: check?.warnings ?? [] };
}
