/**
 * The exact arguments: the stored text, letter for letter. Previews never replace it. Reports when
 * the end of the text was on the screen, or when the user selected Show all.
 */

import { visiblePieces } from "@countersign/protocol";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { indentJson } from "../../exact/indent.ts";
import { LongText } from "../../exact/long-text.tsx";
import { plural, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { Scroller } from "../../parts/scroller.tsx";
import { copyText } from "./copy-text.ts";

/** The key does not work before this time, so that it is meant for this request. */
const SETTLE_MS = 300;

export interface ExactArgumentsProps {
  readonly text: string;
  readonly digest: string;
  /** The bar that covers the end of the screen. */
  readonly bar: { readonly current: HTMLElement | null };
  /** The end was on the screen. */
  onEnd(): void;
}

export function ExactArguments({ text, digest, bar, onEnd }: ExactArgumentsProps) {
  const box = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const section = useRef<HTMLElement>(null);
  const openedAt = useRef(performance.now());
  const [isThere, setThere] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const isCut = useIsCut(box, isWhole);
  const onWhole = useCallback(() => setThere(true), []);
  const marks = useMemo(() => countMarks(text), [text]);
  useEndOnScreen(end, bar, isThere, onEnd);
  function showAll(): void {
    setWhole(true);
    onEnd();
    box.current?.focus({ preventScroll: true });
  }
  useKeys([
    {
      key: "e",
      does: t`Show all exact arguments`,
      press({ timeStamp }) {
        // A press for the request before, or before all of the text is there, shows nothing yet.
        if (isThere && timeStamp - openedAt.current >= SETTLE_MS) showAll();
        section.current?.scrollIntoView({ block: "start" });
      },
    },
  ]);
  return (
    <section class="panel exact" id="exact" ref={section} aria-labelledby="arguments-title">
      <header class="panel-head">
        <h2 id="arguments-title">{t`Exact arguments`}</h2>
        <span class="hint">{sizeOf(text)}</span>
        <CopyRaw text={text} />
      </header>
      <Scroller
        class={isWhole ? "source whole" : "source"}
        id="arguments-box"
        box={box}
        labelledBy="arguments-title"
      >
        <pre id="arguments">
          <LongText text={text} onWhole={onWhole} />
        </pre>
        <div id="end" ref={end} />
      </Scroller>
      {isCut && (
        <button type="button" class="plain" id="show-all" onClick={showAll}>
          {t`Show all`}
        </button>
      )}
      {marks > 0 && (
        <p class="warning" id="unseen">
          {plural(marks, {
            one: "One character is marked: invisible, text-reordering or confusable.",
            other: "# characters are marked: invisible, text-reordering or confusable.",
          })}
        </p>
      )}
      <Indented text={text} />
      <p class="digest">
        <span>{t`SHA-256 of this text, computed in this browser and sent with your decision`}</span>
        <code id="digest">{digest}</code>
      </p>
    </section>
  );
}

function sizeOf(text: string): string {
  const lines = text.split("\n").length;
  let letters = 0;
  for (const _ of text) letters++;
  return plural(
    lines,
    {
      one: "{0} characters on one line",
      other: "{0} characters on # lines",
    },
    letters,
  );
}

function countMarks(text: string): number {
  return visiblePieces(text).filter(({ label }) => label !== undefined).length;
}

function CopyRaw({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Button
      kind="quiet"
      id="copy-raw"
      onPress={async () => {
        await copyText(text);
        setCopied(true);
      }}
    >
      <Icon name={isCopied ? "check" : "copy"} />
      {t`Copy raw`}
      <span class="spoken" role="status">
        {isCopied && t`Copied`}
      </span>
    </Button>
  );
}

/** A second view, and only when it says something that the first does not. */
function Indented({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  const indented = useMemo(() => (isOpen ? indentJson(text) : ""), [text, isOpen]);
  if (!/[{[]\s*[^\s}\]]/.test(text)) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t`Show formatted`}</summary>
      {isOpen && (
        <Scroller class="source" label={t`Formatted arguments`}>
          <pre id="indented">
            <LongText text={indented} />
          </pre>
        </Scroller>
      )}
    </details>
  );
}

function useIsCut(box: { readonly current: HTMLElement | null }, isWhole: boolean): boolean {
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setCut(!isWhole && element.scrollHeight > element.clientHeight + 1);
    });
    observer.observe(element);
    // The height of the box is limited: its content grows alone.
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [box, isWhole]);
  return isCut;
}

function useEndOnScreen(
  end: { readonly current: HTMLElement | null },
  bar: { readonly current: HTMLElement | null },
  isThere: boolean,
  onEnd: () => void,
): void {
  const latestOnEnd = useRef(onEnd);
  latestOnEnd.current = onEnd;
  useEffect(() => {
    const { current: element } = end;
    if (!isThere || element === null) return;
    let observer: IntersectionObserver | undefined;
    const watch = () => {
      observer?.disconnect();
      // Text behind the bar, or below it, is not visible.
      const barTop = bar.current?.getBoundingClientRect().top ?? innerHeight;
      const rootMargin = `0px 0px -${Math.max(0, Math.round(innerHeight - barTop))}px 0px`;
      observer = new IntersectionObserver(
        (entries) => {
          if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
          stop();
          latestOnEnd.current();
        },
        { rootMargin },
      );
      observer.observe(element);
    };
    // The bar grows and shrinks with what it says.
    const resizes = new ResizeObserver(watch);
    const stop = () => {
      resizes.disconnect();
      observer?.disconnect();
    };
    if (bar.current === null) watch();
    else resizes.observe(bar.current);
    return stop;
  }, [isThere, end, bar]);
}
