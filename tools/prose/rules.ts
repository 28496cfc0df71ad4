/**
 * The rules of the glossary, applied to the sentences of a passage.
 */

import { readFileSync } from "node:fs";
import type { Nodes, Sentence } from "nlcst";
import { ParseEnglish } from "parse-english";
import { parse } from "yaml";
import { isCode, type Kind, type Passage } from "./passage.ts";

export interface Glossary {
  readonly sentence_words_max: number;
  /** Kinds of prose with a limit on the length of sentences. */
  readonly sentence_kinds: readonly Kind[];
  readonly rules: readonly Rule[];
}

export interface Rule {
  readonly id: string;
  /**
   * Phrases to avoid. `a|b` is either word, `*` any word, `^` the start of a sentence and `$` the
   * mark at its end. Upper and lower case do not matter.
   */
  readonly avoid: readonly string[];
  /** Longer phrases around such a phrase that are correct. */
  readonly except?: readonly string[];
  /** The suggestion. */
  readonly write: string;
  /** All kinds when absent. */
  readonly kinds?: readonly Kind[];
  /** Questions may use the phrase. */
  readonly questions?: boolean;
}

export interface Finding {
  readonly rule: string;
  readonly words: string;
  readonly write: string;
  /** Offset in the file. */
  readonly offset: number;
}

export const GLOSSARY_PATH = `${import.meta.dirname}/glossary.yaml`;

export function readGlossary(path: string = GLOSSARY_PATH): Glossary {
  return parse(readFileSync(path, "utf8"));
}

/** A function that applies a glossary. Phrases are compiled once. */
export function compileGlossary(glossary: Glossary): (passage: Passage) => Finding[] {
  const rules = glossary.rules.map((rule) => ({
    ...rule,
    avoid: rule.avoid.map(compilePhrase),
    except: (rule.except ?? []).map(compilePhrase),
  }));
  return (passage) => {
    const findings: Finding[] = [];
    const add = (rule: string, write: string, tokens: readonly Token[]): void => {
      const [first] = tokens;
      const last = tokens.at(-1);
      if (first === undefined || last === undefined) return;
      const words = passage.text.slice(first.start, last.end).replaceAll(/\s+/g, " ");
      findings.push({ rule, words, write, offset: passage.offset + first.start });
    };
    for (const tokens of sentencesOf(passage.text)) {
      const isQuestion = tokens.at(-1)?.text === "?";
      for (const rule of rules) {
        if (rule.kinds && !rule.kinds.includes(passage.kind)) continue;
        if (rule.questions && isQuestion) continue;
        const allowed = rule.except.flatMap((phrase) => matches(phrase, tokens));
        for (const match of rule.avoid.flatMap((phrase) => matches(phrase, tokens))) {
          if (!allowed.some(({ start, end }) => start <= match.start && match.end <= end)) {
            add(rule.id, rule.write, tokens.slice(match.start, match.end));
          }
        }
      }
      if (!glossary.sentence_kinds.includes(passage.kind)) continue;
      const words = tokens.filter(({ isWord }) => isWord);
      if (words.length > glossary.sentence_words_max) {
        const write = `${words.length} words; split it, at most ${glossary.sentence_words_max}`;
        add("sentence-length", write, words.slice(0, 4));
      }
    }
    return findings;
  };
}

interface Token {
  /** In lower case. */
  readonly text: string;
  readonly isWord: boolean;
  readonly start: number;
  readonly end: number;
}

const parser = new ParseEnglish();

function sentencesOf(text: string): Token[][] {
  const sentences: Token[][] = [];
  const visit = (node: Nodes): void => {
    if (node.type === "SentenceNode")
      sentences.push(...splitAfterNumbers(tokensOf(node, text), text));
    else if ("children" in node) node.children.forEach(visit);
  };
  visit(parser.parse(text));
  return sentences.filter((tokens) => tokens.some(({ isWord }) => isWord));
}

/** The parser takes "400." and "s." for an ordinal and an initial, and goes on in the sentence. */
function splitAfterNumbers(tokens: readonly Token[], text: string): Token[][] {
  const sentences: Token[][] = [[]];
  for (const [index, token] of tokens.entries()) {
    sentences.at(-1)?.push(token);
    const next = tokens[index + 1];
    const isEnd = /^(?:[\d.,]*\d|[a-z])\.$/.test(token.text);
    if (isEnd && next && /^\p{Lu}/u.test(text.slice(next.start))) sentences.push([]);
  }
  return sentences;
}

function tokensOf(sentence: Sentence, text: string): Token[] {
  return sentence.children.flatMap((node) => {
    const start = node.position?.start.offset;
    const end = node.position?.end.offset;
    if (node.type === "WhiteSpaceNode" || start === undefined || end === undefined) return [];
    const isWord = node.type === "WordNode";
    return [
      { text: text.slice(start, end).toLowerCase().replaceAll("’", "'"), isWord, start, end },
    ];
  });
}

type Test = (tokens: readonly Token[], index: number) => boolean;

interface Phrase {
  readonly words: readonly Test[];
  readonly atStart: boolean;
  readonly atEnd: boolean;
}

function compilePhrase(phrase: string): Phrase {
  const parts = phrase.split(" ");
  const atStart = parts[0] === "^";
  const atEnd = parts.at(-1) === "$";
  const words = parts.filter((part) => part !== "^" && part !== "$").map(compileWord);
  return { words, atStart, atEnd };
}

function compileWord(part: string): Test {
  if (part === "*") return (tokens, index) => tokens[index]?.isWord ?? false;
  if (part === "CODE") return (tokens, index) => isCode(tokens[index]?.text.toUpperCase() ?? "");
  const alternatives = new Set(part.split("|"));
  return (tokens, index) => alternatives.has(tokens[index]?.text ?? "");
}

/** Indexes of tokens: from the first to behind the last. */
function matches(phrase: Phrase, tokens: readonly Token[]): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  const first = tokens.findIndex(({ isWord }) => isWord);
  for (let start = phrase.atStart ? first : 0; start < tokens.length; start += 1) {
    const end = start + phrase.words.length;
    const fits = phrase.words.every((test, index) => test(tokens, start + index));
    if (fits && (!phrase.atEnd || end === tokens.length)) found.push({ start, end });
    if (phrase.atStart) break;
  }
  return found;
}
