import { visiblePieces } from "./visible-text.ts";

/**
 * A text of strangers: nothing in it hides or moves what stands beside it, and nothing becomes
 * markup or a link. What cannot be seen stands in labelled chips.
 */
export function Text({ children }: { readonly children: string }) {
  const pieces = visiblePieces(children);
  const [only] = pieces;
  if (pieces.length === 1 && only?.isUnseen === false) return <>{only.text}</>;
  return (
    <>
      {pieces.map(({ text, isUnseen }, index) =>
        isUnseen ? <mark key={index}>{text}</mark> : text,
      )}
    </>
  );
}
