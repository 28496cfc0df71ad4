/** The frame of the pages for signing in, setting up and accepting an invitation. */

import "./card.css";
import "../language/page-language.ts";
import { type ComponentChild, type ComponentChildren, render } from "preact";
import { stayWhenSignedOut } from "../api.ts";
import { mark } from "../mark.ts";

export interface CardProps {
  readonly title: string;
  readonly lead: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Card({ title, lead, children }: CardProps) {
  return (
    <>
      <header class="head">
        <img src={mark} alt="" width="44" height="44" />
        <h1>{title}</h1>
        <p class="hint">{lead}</p>
      </header>
      {children}
    </>
  );
}

/** @param title of the page, until it has another one */
export function renderPage(title: string, page: ComponentChild): void {
  document.title = `${title} · Countersign`;
  stayWhenSignedOut();
  const root = document.getElementById("app");
  if (root === null) throw new Error("The page has no element #app.");
  render(page, root);
}
