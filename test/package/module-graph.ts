import { readFileSync, readdirSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import ts from 'typescript';

/** One module specifier in one file; `target` is the file it names when that is one of ours. */
export interface Import {
  readonly from: string;
  readonly specifier: string;
  readonly target: string | undefined;
  readonly typeOnly: boolean;
}

/** Source text by path, relative to the repository and with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

export function readSources(root: string, folder: string): Sources {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    files.map((file) => [relative(root, file).split(sep).join('/'), readFileSync(file, 'utf8')]),
  );
}

export function importsOf(sources: Sources): Import[] {
  return [...sources].flatMap(([from, text]) =>
    specifiersIn(from, text).map(({ specifier, typeOnly }) => ({
      from,
      specifier,
      typeOnly,
      target: specifier.startsWith('.') ? resolve(from, specifier) : undefined,
    })),
  );
}

/** Every cycle that runs through value imports, once each; type imports are erased and cannot make one. */
export function valueCycles(imports: readonly Import[]): string[][] {
  const edges = new Map<string, Set<string>>();
  for (const { from, target, typeOnly } of imports) {
    if (target === undefined || typeOnly) continue;
    edges.set(from, (edges.get(from) ?? new Set()).add(target));
  }
  const finished = new Set<string>();
  const cycles: string[][] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file]);
    if (start >= 0 || finished.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    finished.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return cycles;
}

function resolve(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
}

function specifiersIn(path: string, text: string): Pick<Import, 'specifier' | 'typeOnly'>[] {
  const found: Pick<Import, 'specifier' | 'typeOnly'>[] = [];
  const add = (node: ts.Node | undefined, typeOnly: boolean): void => {
    if (node && ts.isStringLiteralLike(node)) found.push({ specifier: node.text, typeOnly });
  };
  const walk = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true);
    } else if (ts.isCallExpression(node) && isImportCall(node.expression)) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, walk);
  };
  walk(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return found;
}

function isImportCall(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === 'require')
  );
}
