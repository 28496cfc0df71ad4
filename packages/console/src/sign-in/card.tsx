/** The frame of the pages for signing in, setting up and accepting an invitation. */

import "./card.css";
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

export function renderPage(page: ComponentChild): void {
  stayWhenSignedOut();
  const root = document.getElementById("app");
  if (root === null) throw new Error("The page has no element #app.");
  render(page, root);
}
