import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the types of the other major are. */
const NEST_11 = {
  'nestjs-distributed-lock': [`${ROOT}lib/index.ts`],
  '@nestjs/*': [`${ROOT}test/nest11/node_modules/@nestjs/*`],
};
const FILE = `${ROOT}test/types/lines.ts`;

/** What the compiler says of each line, empty where it is content; with the project's options, and nothing is written. */
export function compileLines(
  setup: string,
  lines: readonly string[],
  nest: 11 | 12,
): readonly string[] {
  const options = { ...compilerOptions(), ...(nest === 11 ? { paths: NEST_11 } : {}) };
  const source = [setup.trim().replaceAll('\n', ' '), ...lines, 'export {};'].join('\n');
  const program = ts.createProgram({
    rootNames: [FILE],
    options,
    host: hostWith(source, options),
  });
  if (program.getSourceFiles().some(isOfNest11) !== (nest === 11)) {
    throw new Error(`These are not the types of Nest ${nest}`);
  }
  const file = program.getSourceFile(FILE)!;
  const complaints = Array.from({ length: lines.length + 2 }, () => '');
  for (const { start = 0, messageText } of ts.getPreEmitDiagnostics(program, file)) {
    const { line } = file.getLineAndCharacterOfPosition(start);
    complaints[line] += ts.flattenDiagnosticMessageText(messageText, '\n');
  }
  if (complaints[0] !== '') {
    throw new Error(complaints[0]);
  }
  return complaints.slice(1, -1);
}

function isOfNest11({ fileName }: ts.SourceFile): boolean {
  return fileName.includes('/test/nest11/');
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { ...options, noEmit: true, noUnusedLocals: false, noUnusedParameters: false };
}

function hostWith(source: string, options: ts.CompilerOptions): ts.CompilerHost {
  const disk = ts.createCompilerHost(options);
  return {
    ...disk,
    fileExists: (path) => path === FILE || disk.fileExists(path),
    readFile: (path) => (path === FILE ? source : disk.readFile(path)),
    getSourceFile: (path, language, ...rest) =>
      path === FILE
        ? ts.createSourceFile(path, source, language)
        : disk.getSourceFile(path, language, ...rest),
  };
}
