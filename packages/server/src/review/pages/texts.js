/** Texts of strangers on a page: always text, with what cannot be seen in it marked. */

import { visiblePieces } from "./exact-text.js";

export function nodesOf(text) {
  return visiblePieces(text).map((piece) => {
    if (!piece.isUnseen) return document.createTextNode(piece.text);
    const mark = document.createElement("mark");
    mark.textContent = piece.text;
    return mark;
  });
}

/** Where only plain text can stand, as in a title. */
export function visibleText(text) {
  return visiblePieces(text)
    .map((piece) => piece.text)
    .join("");
}

/** Puts a text there, unless it is there already: what has not changed is not announced again. */
export function setText(element, text) {
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(...nodesOf(text));
}

export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}
