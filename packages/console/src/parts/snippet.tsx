import "./snippet.css";
import { CopyButton } from "./copy-button.tsx";

export interface SnippetProps {
  /** Heading above the snippet and name of its button. */
  readonly title: string;
  readonly text: string;
}

/** A text of ours to be taken elsewhere, letter for letter, with a button that copies it. */
export function Snippet({ title, text }: SnippetProps) {
  return (
    <figure class="snippet">
      <figcaption>
        <span>{title}</span>
        <CopyButton text={text} what={title} isSmall />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}
