/** What of exact-text.js is tested without a browser. */

export function memberSource(json: string, name: string): string | undefined;

export function itemSources(json: string): string[];

export function visiblePieces(text: string): { text: string; isUnseen: boolean }[];
