/** The errors of an operator who names an unknown object on the command line. */

import { Problem, quoted } from "@countersign/protocol";

export function unknownLogin(login: string): Problem {
  const advice = "Run `countersign people list` to list the accounts.";
  return new Problem("not_found", `No account has the login ${quoted(login)}. ${advice}`);
}

export function unknownProject(name: string): Problem {
  const advice = "Run `countersign reviewers list` to list the projects.";
  return new Problem("not_found", `No project has the name ${quoted(name)}. ${advice}`);
}

export function unknownReviewer(name: string): Problem {
  const advice = "Run `countersign reviewers list` to list the reviewers.";
  return new Problem("not_found", `The project has no reviewer ${quoted(name)}. ${advice}`);
}

export function unknownToken(id: string): Problem {
  const advice = "Run `countersign tokens list` to list the tokens.";
  return new Problem("not_found", `No token has the id ${quoted(id)}. ${advice}`);
}
