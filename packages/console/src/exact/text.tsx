/** Shows text from agents without loss, with labels for invisible and confusable characters. */

import { type Piece, visiblePieces } from "@countersign/protocol";

/**
 * A text of strangers: nothing in it hides or moves what stands beside it, and nothing becomes
 * markup or a link. What cannot be seen, or passes for something else, stands in labelled chips.
 */
export function Text({ children }: { readonly children: string }) {
  return <Pieces pieces={visiblePieces(children)} />;
}

/** The label is no part of the text: it is not copied with it, and not found in it. */
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
