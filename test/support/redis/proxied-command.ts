import type { RespFrame } from './resp-reader.js';

/** A command that a client sent. */
export interface ProxiedCommand {
  /** In capitals. */
  readonly name: string;
  readonly args: readonly string[];
}

/** The name of a command, or a question about it. */
export type CommandMatch = string | ((command: ProxiedCommand) => boolean);

/** Whether it is one of those that are meant. */
export function matches(match: CommandMatch, command: ProxiedCommand): boolean {
  return typeof match === 'string' ? match.toUpperCase() === command.name : match(command);
}

export function commandOf({ value }: RespFrame): ProxiedCommand {
  const [name, ...args] = value as [string, ...string[]];
  return { name: name.toUpperCase(), args };
}

const SUBSCRIBING = /^[PS]?(UN)?SUBSCRIBE$/;
const OUT_OF_BAND = /^([ps]?message|[ps]?(un)?subscribe)$/;

/** How many messages answer a command: one for each channel, if it is about channels. */
export function repliesTo({ name, args }: ProxiedCommand): number {
  return SUBSCRIBING.test(name) ? Math.max(1, args.length) : 1;
}

/** Whether a message answers this command; else it came by itself, as pushes and messages of channels do. */
export function answers({ type, value }: RespFrame, { name }: ProxiedCommand): boolean {
  const first = Array.isArray(value) ? value[0] : undefined;
  if (SUBSCRIBING.test(name)) {
    return value instanceof Error || first === name.toLowerCase();
  }
  return type !== '>' && !(typeof first === 'string' && OUT_OF_BAND.test(first));
}
