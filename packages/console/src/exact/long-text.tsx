/**
 * A text of any length, whole, without keeping the page from answering: it is put there piece by
 * piece, and says when all of it is there.
 */

import { type Piece, visiblePieces } from "@countersign/protocol";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Pieces } from "./text.tsx";

/** Of one chunk; it is put there in one go. */
const CHUNK_CHARS = 32_768;
const CHUNK_PIECES = 400;

export interface LongTextProps {
  readonly text: string;
  /** All of it is on the page. Must be stable: another function is called again. */
  readonly onWhole?: () => void;
}

export function LongText({ text, onWhole }: LongTextProps) {
  const chunks = useMemo(() => chunksOf(visiblePieces(text)), [text]);
  const [count, setCount] = useState(1);
  // A rendered chunk is not compared again.
  const nodes = useRef<VNode[]>([]);
  const source = useRef(chunks);
  if (source.current !== chunks) {
    source.current = chunks;
    nodes.current = [];
  }
  for (let index = nodes.current.length; index < Math.min(count, chunks.length); index++) {
    nodes.current.push(<Pieces key={index} pieces={chunks[index] ?? []} />);
  }
  const isWhole = count >= chunks.length;
  useEffect(() => {
    if (isWhole) {
      onWhole?.();
      return;
    }
    const timer = setTimeout(() => setCount(count + 1));
    return () => clearTimeout(timer);
  }, [isWhole, count, onWhole]);
  return <>{[...nodes.current]}</>;
}

function chunksOf(pieces: readonly Piece[]): Piece[][] {
  const chunks: Piece[][] = [];
  let chunk: Piece[] = [];
  let chars = 0;
  for (const piece of pieces.flatMap(slices)) {
    if (chunk.length >= CHUNK_PIECES || chars + piece.text.length > CHUNK_CHARS) {
      chunks.push(chunk);
      chunk = [];
      chars = 0;
    }
    chunk.push(piece);
    chars += piece.text.length;
  }
  return chunk.length > 0 ? [...chunks, chunk] : chunks;
}

/** Never between the two halves of a character. */
function slices(piece: Piece): Piece[] {
  if (piece.text.length <= CHUNK_CHARS) return [piece];
  const all: Piece[] = [];
  let from = 0;
  while (from < piece.text.length) {
    let to = from + CHUNK_CHARS;
    if (/[\ud800-\udbff]/.test(piece.text.charAt(to - 1))) to--;
    all.push({ ...piece, text: piece.text.slice(from, to) });
    from = to;
  }
  return all;
}
