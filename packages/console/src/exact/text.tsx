/** Shows text from agents without loss, with labels for invisible and confusable characters. */

import { type Piece, visiblePieces } from "@countersign/protocol";

/**
 * Untrusted text: it cannot hide or move the text beside it, and it never becomes markup or a link.
 * Invisible and confusable characters are shown as labelled chips.
 */
export function Text({ children }: { readonly children: string }) {
  return <Pieces pieces={visiblePieces(children)} />;
}

/** The label is not part of the text: copy and search ignore it. */
export function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ text, isUnseen, label }, index) =>
        label === undefined ? (
          text
        ) : (
          <mark key={index} class={isUnseen ? "unseen" : "look-alike"} data-label={label}>
            {text}
          </mark>
        ),
      )}
    </>
  );
}
