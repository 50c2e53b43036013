/** What a message of the Redis protocol says; errors are values here. */
export type RespValue = string | number | boolean | null | Error | RespValue[];

/** One whole message. */
export interface RespFrame {
  /** The character that the protocol begins it with. */
  readonly type: string;
  readonly value: RespValue;
  readonly raw: Buffer;
}

interface Read {
  readonly value: RespValue;
  readonly end: number;
}

/** Cuts a stream of the Redis protocol (2 or 3) into messages. */
export class RespReader {
  #rest: Buffer = Buffer.alloc(0);

  read(chunk: Buffer): RespFrame[] {
    const buffer = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: RespFrame[] = [];
    let start = 0;
    for (let read = readValue(buffer, start); read; read = readValue(buffer, start)) {
      const type = String.fromCharCode(buffer[start] as number);
      frames.push({ type, value: read.value, raw: buffer.subarray(start, read.end) });
      start = read.end;
    }
    this.#rest = buffer.subarray(start);
    return frames;
  }
}

/** `undefined` if there is no whole value yet. */
function readValue(buffer: Buffer, start: number): Read | undefined {
  const lineEnd = buffer.indexOf('\r\n', start);
  if (lineEnd < 0) {
    return undefined;
  }
  const type = String.fromCharCode(buffer[start] as number);
  const line = buffer.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (type) {
    case '+':
    case '(':
      return { value: line, end };
    case '-':
      return { value: new Error(line), end };
    case ':':
    case ',':
      return { value: Number(line), end };
    case '#':
      return { value: line === 't', end };
    case '_':
      return { value: null, end };
    case '$':
    case '=':
    case '!':
      return readBlob(buffer, end, Number(line));
    case '*':
    case '~':
    case '>':
      return readList(buffer, end, Number(line));
    case '%':
      return readList(buffer, end, 2 * Number(line));
    default:
      throw new Error(`Not a message of Redis: ${JSON.stringify(type + line)}`);
  }
}

function readBlob(buffer: Buffer, start: number, length: number): Read | undefined {
  if (length < 0) {
    return { value: null, end: start };
  }
  const end = start + length + 2;
  return end > buffer.length
    ? undefined
    : { value: buffer.toString('utf8', start, start + length), end };
}

function readList(buffer: Buffer, start: number, length: number): Read | undefined {
  if (length < 0) {
    return { value: null, end: start };
  }
  const list: RespValue[] = [];
  let end = start;
  while (list.length < length) {
    const item = readValue(buffer, end);
    if (item === undefined) {
      return undefined;
    }
    list.push(item.value);
    end = item.end;
  }
  return { value: list, end };
}
