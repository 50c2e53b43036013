import ts from 'typescript';
import { type CodeBlock, ROOT } from './markdown.js';

/** What the compiler says of a block, with the lines of its page. */
export type Complaints = (block: CodeBlock) => readonly string[];

/** Compiles the blocks as files beside the sources, so that imports resolve as they do there; no file is written. */
export function compile(blocks: readonly CodeBlock[]): Complaints {
  const options = compilerOptions();
  const sources = new Map(blocks.map((block) => [fileOf(block), sourceOf(block)]));
  const program = ts.createProgram({
    rootNames: [...sources.keys()],
    options,
    host: hostWith(sources, options),
  });
  return (block) => complaintsOf(program, block);
}

const fileOf = ({ place }: CodeBlock): string => `${ROOT}${place.replaceAll(/\W/g, '-')}.ts`;
const sourceOf = ({ setup, code }: CodeBlock): string => `${setup}${code}\nexport {};\n`;

/** Those of the project, by which the package's name means its sources; but an example may leave things unused. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { ...options, noEmit: true, noUnusedLocals: false, noUnusedParameters: false };
}

function hostWith(
  sources: ReadonlyMap<string, string>,
  options: ts.CompilerOptions,
): ts.CompilerHost {
  const disk = ts.createCompilerHost(options);
  return {
    ...disk,
    fileExists: (path) => sources.has(path) || disk.fileExists(path),
    readFile: (path) => sources.get(path) ?? disk.readFile(path),
    getSourceFile: (path, language, ...rest) => {
      const source = sources.get(path);
      return source === undefined
        ? disk.getSourceFile(path, language, ...rest)
        : ts.createSourceFile(path, source, language);
    },
  };
}

function complaintsOf(program: ts.Program, block: CodeBlock): string[] {
  const file = program.getSourceFile(fileOf(block));
  const setupLines = block.setup.split('\n').length - 1;
  return ts.getPreEmitDiagnostics(program, file).map(({ start = 0, messageText }) => {
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) - setupLines + block.line;
    return `${block.page}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
