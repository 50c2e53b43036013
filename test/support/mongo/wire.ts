import { deserialize, serialize } from 'bson';
import type { Document } from './values.js';

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER = 16;

/** Answers are expected unless the flag says otherwise. */
const MORE_TO_COME = 1 << 1;
const CHECKSUM_PRESENT = 1;

/** A command as it came in. */
export interface Message {
  readonly requestId: number;
  readonly opCode: number;
  readonly command: Document;
  readonly wantsAnswer: boolean;
}

/** Numbers keep their types; dates and strings are what they are in JavaScript. */
const TYPED = { promoteValues: false, promoteLongs: false, promoteBuffers: false } as const;

/** Cuts the stream of bytes into messages. */
export class MessageReader {
  #buffer = Buffer.alloc(0);

  read(chunk: Buffer): Message[] {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    const messages: Message[] = [];
    while (this.#buffer.length >= HEADER && this.#buffer.length >= this.#buffer.readInt32LE(0)) {
      const length = this.#buffer.readInt32LE(0);
      messages.push(parse(this.#buffer.subarray(0, length)));
      this.#buffer = this.#buffer.subarray(length);
    }
    return messages;
  }
}

function parse(message: Buffer): Message {
  const requestId = message.readInt32LE(4);
  const opCode = message.readInt32LE(12);
  if (opCode === OP_QUERY) {
    return { requestId, opCode, command: parseQuery(message), wantsAnswer: true };
  }
  if (opCode !== OP_MSG) {
    throw new Error(`The stand-in does not know messages of kind ${opCode}`);
  }
  const flags = message.readUInt32LE(HEADER);
  const end = message.length - (flags & CHECKSUM_PRESENT ? 4 : 0);
  const command = parseSections(message.subarray(HEADER + 4, end));
  return { requestId, opCode, command, wantsAnswer: (flags & MORE_TO_COME) === 0 };
}

/** The first hello of a connection comes this way: flags, the collection's name, two numbers, the query. */
function parseQuery(message: Buffer): Document {
  const nameEnd = message.indexOf(0, HEADER + 4);
  return documentAt(message, nameEnd + 1 + 8).document;
}

/** One body, and lists of documents that belong into it. */
function parseSections(sections: Buffer): Document {
  let command: Document = {};
  for (let at = 0; at < sections.length;) {
    const kind = sections[at];
    if (kind === 0) {
      const { document, end } = documentAt(sections, at + 1);
      command = { ...document, ...command };
      at = end;
    } else {
      const size = sections.readInt32LE(at + 1);
      const [name, documents] = parseSequence(sections.subarray(at + 5, at + 1 + size));
      command[name] = documents;
      at += 1 + size;
    }
  }
  return command;
}

function parseSequence(sequence: Buffer): [string, Document[]] {
  const nameEnd = sequence.indexOf(0);
  const documents: Document[] = [];
  for (let at = nameEnd + 1; at < sequence.length;) {
    const { document, end } = documentAt(sequence, at);
    documents.push(document);
    at = end;
  }
  return [sequence.toString('utf8', 0, nameEnd), documents];
}

function documentAt(buffer: Buffer, at: number): { document: Document; end: number } {
  const end = at + buffer.readInt32LE(at);
  return { document: deserialize(buffer.subarray(at, end), TYPED), end };
}

/** The answer to a message, in the form that it came in. */
export function encodeAnswer({ requestId, opCode }: Message, answer: Document): Buffer {
  const body = serialize(answer);
  const fixed = opCode === OP_QUERY ? Buffer.alloc(20) : Buffer.alloc(5);
  if (opCode === OP_QUERY) {
    fixed.writeInt32LE(1, 16);
  }
  const header = Buffer.alloc(HEADER);
  header.writeInt32LE(HEADER + fixed.length + body.length, 0);
  header.writeInt32LE(requestId, 8);
  header.writeInt32LE(opCode === OP_QUERY ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([header, fixed, body]);
}
