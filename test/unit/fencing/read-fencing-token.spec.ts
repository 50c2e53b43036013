import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from 'vitest';
import { FencingTokenError } from '../../../lib/errors/fencing-token.error.js';
import { readFencingToken } from '../../../lib/fencing/read-fencing-token.js';

const TOKEN = '1800000000000000';
const request = { headers: { 'fencing-token': TOKEN } };
const message = { fencingToken: TOKEN };

function read(transport: string, args: unknown[]): bigint {
  const context = new ExecutionContextHost(args);
  context.setType(transport);
  return readFencingToken(context);
}

describe('the fencing token of a request', () => {
  it.each<[string, string, unknown[]]>([
    ['a header', 'http', [request, {}]],
    ['a header, by Apollo', 'graphql', [{}, {}, { req: request }, {}]],
    ['a header, by Fastify', 'graphql', [{}, {}, { request }, {}]],
    ['a header, by Mercurius', 'graphql', [{}, {}, { reply: { request } }, {}]],
    ['a message', 'rpc', [message, {}]],
    ['a message that has a bigint', 'rpc', [{ fencingToken: BigInt(TOKEN) }, {}]],
    ['a message of a socket', 'ws', [{}, message]],
  ])('is read from %s', (_, transport, args) => {
    expect(read(transport, args)).toBe(BigInt(TOKEN));
  });

  it.each<[string, unknown[]]>([
    ['http', [{ headers: {} }, {}]],
    ['graphql', [{}, {}, {}, {}]],
    ['graphql', [{}, {}, undefined, {}]],
    ['rpc', [undefined, {}]],
    ['rpc', ['text', {}]],
    ['rpc', [{ fencingToken: null }, {}]],
    ['ws', [{}, {}]],
  ])('is an error where %s has none', (transport, args) => {
    expect(() => read(transport, args)).toThrow(FencingTokenError);
    expect(() => read(transport, args)).toThrow(
      /no fencing token.*`fencing-token`.*fencingHeaders/,
    );
  });

  it.each(['', '-1', 'abc', `${TOKEN}, ${TOKEN}`, [TOKEN]])(
    'is an error where it is %o',
    (value) => {
      const args = [{ headers: { 'fencing-token': value } }, {}];
      expect(() => read('http', args)).toThrow(/is no fencing token/);
    },
  );
});
