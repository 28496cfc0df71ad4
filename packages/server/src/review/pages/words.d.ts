/** What of words.js is tested without a browser. */

export interface Requirement {
  readonly from: readonly (readonly string[])[];
  readonly quorum: number;
  readonly quorums?: readonly number[];
  readonly exclude: readonly string[];
  readonly confirm: { readonly kind: string };
  readonly note: string;
  readonly bots: boolean;
}

export interface Voted {
  readonly requirement: Requirement;
  readonly votes: readonly unknown[];
}

export interface Ended {
  readonly status: string;
  readonly decided_by?: string;
  readonly decider?: string;
}

export function timeLeft(ms: number): string;
export function whoIsAsked(requirement: Requirement): string;
export function whatIsNeeded(requirement: Requirement): string;
export function takesVotes(requirement: Requirement): boolean;
export function countVotes(request: Voted): string;
export function stillMissing(request: Voted): string;
export function outcomeOf(request: Ended, me?: string): string;
