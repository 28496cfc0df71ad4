/**
 * TypeScript files as the rules read them: text, syntax tree and imports.
 *
 * The tree comes from the compiler's own parser, so no rule guesses at syntax. TypeScript 7 is
 * a native program that offers its parser to JavaScript as an API it still calls unstable; this
 * is the one file that starts it, and package.json pins the exact version. It starts once in a
 * process, in some 25 ms, and ends with it.
 */

import {
  type ImportDeclaration,
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNamedExports,
  isNamedImports,
  isNoSubstitutionTemplateLiteral,
  isStringLiteral,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API, type Program } from "typescript/unstable/sync";

/** One broken rule, at the place where it is broken. */
export interface Violation {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly message: string;
}

export interface Import {
  readonly specifier: string;
  /** Nothing of it is left at run time. */
  readonly typeOnly: boolean;
  /** The names it binds as the other module calls them; `*` for all of it. */
  readonly names: readonly string[];
  readonly line: number;
}

export interface Source {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly file: SourceFile;
  /** Every node of the tree, parents before children. */
  readonly nodes: readonly Node[];
  readonly imports: readonly Import[];
  /** Syntax errors. */
  readonly faults: readonly Violation[];
}

/** The compiler reads from here only: texts are put in, the real disk is out of its sight. */
const disk = createVirtualFileSystem({});
let compiler: API | undefined;
let batches = 0;

/** @param texts by path from the root of the repository */
export function parseSources(texts: ReadonlyMap<string, string>): Source[] {
  // A root of its own for every batch, so that nothing the compiler remembers can be stale.
  batches += 1;
  const root = `/batch-${batches}/`;
  const config = `${root}tsconfig.json`;
  for (const [path, text] of texts) disk.writeFile?.(root + path, text);
  // Syntax alone: no library, no resolution, no types.
  const compilerOptions = {
    noLib: true,
    noResolve: true,
    allowJs: true,
    types: [],
    jsx: "preserve",
  };
  disk.writeFile?.(config, JSON.stringify({ compilerOptions, files: [...texts.keys()] }));
  compiler ??= new API({ cwd: "/", fs: disk });
  const snapshot = compiler.updateSnapshot({ openProjects: [config] });
  const project = snapshot.getProject(config);
  if (project === undefined) throw new Error("The compiler opened no project.");
  const sources = [...texts].map(([path, text]) => readSource(project.program, root, path, text));
  compiler.updateSnapshot({ closeProjects: [config] });
  snapshot.dispose();
  return sources;
}

export function parseSource(path: string, text: string): Source {
  const [source] = parseSources(new Map([[path, text]]));
  if (source === undefined) throw new Error(`The compiler did not read ${path}.`);
  return source;
}

export function lineOf({ file }: Pick<Source, "file">, node: Node): number {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

/** A test, or something that only tests use: most rules about the house do not bind it. */
export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || /^packages\/(testing|[^/]+\/test)\//.test(path);
}

function readSource(program: Program, root: string, path: string, text: string): Source {
  const file = program.getSourceFile(root + path);
  if (file === undefined) throw new Error(`The compiler did not read ${path}.`);
  const nodes: Node[] = [];
  const visit = (node: Node): void => {
    nodes.push(node);
    node.forEachChild(visit);
  };
  visit(file);
  const faults = program.getSyntacticDiagnostics(root + path).map((fault) => ({
    file: path,
    line: file.getLineAndCharacterOfPosition(fault.pos).line + 1,
    message: `does not parse: ${fault.text}`,
  }));
  const imports = nodes.flatMap((node) => readImport(file, node));
  return { path, text, file, nodes, imports, faults };
}

/** Static, dynamic and type imports, and re-exports. */
function readImport(file: SourceFile, node: Node): Import[] {
  const line = lineOf({ file }, node);
  if (isImportDeclaration(node)) {
    const specifier = literalText(node.moduleSpecifier);
    return specifier === undefined ? [] : [{ specifier, ...importedNames(node), line }];
  }
  if (isExportDeclaration(node)) {
    const specifier = literalText(node.moduleSpecifier);
    if (specifier === undefined) return [];
    const clause = node.exportClause;
    const elements = clause !== undefined && isNamedExports(clause) ? clause.elements : undefined;
    const names = elements?.map((element) => (element.propertyName ?? element.name).text) ?? ["*"];
    const typeOnly = node.isTypeOnly || (elements?.every((each) => each.isTypeOnly) ?? false);
    return [{ specifier, typeOnly, names, line }];
  }
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    const specifier = literalText(node.arguments[0]);
    return specifier === undefined ? [] : [{ specifier, typeOnly: false, names: ["*"], line }];
  }
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument)) {
    const specifier = literalText(node.argument.literal);
    return specifier === undefined ? [] : [{ specifier, typeOnly: true, names: ["*"], line }];
  }
  return [];
}

/** The text of a string literal, or of a template without holes. */
export function literalText(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  return undefined;
}

function importedNames(node: ImportDeclaration): Pick<Import, "typeOnly" | "names"> {
  const clause = node.importClause;
  if (clause === undefined) return { typeOnly: false, names: [] };
  const bindings = clause.namedBindings;
  const names = clause.name === undefined ? [] : ["default"];
  let typeOnly = clause.phaseModifier === SyntaxKind.TypeKeyword;
  if (bindings !== undefined && isNamedImports(bindings)) {
    names.push(...bindings.elements.map((element) => (element.propertyName ?? element.name).text));
    const elements = bindings.elements;
    typeOnly ||= elements.length > 0 && elements.every((element) => element.isTypeOnly);
  } else if (bindings !== undefined) {
    names.push("*");
  }
  return { typeOnly, names };
}
