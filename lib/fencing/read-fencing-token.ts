import type { ExecutionContext } from '@nestjs/common';
import { FencingTokenError } from '../errors/fencing-token.error.js';
import { FENCING_TOKEN_HEADER, FENCING_TOKEN_PROPERTY } from './fencing-token.header.js';
import { parseFencingToken } from './parse-fencing-token.js';

/** A request of Express or of Fastify. */
interface Request {
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** What GraphQL servers give their resolvers. */
interface GraphqlContext {
  readonly req?: Request;
  readonly request?: Request;
  readonly reply?: { readonly request?: Request };
}

/** The token that came with the request or message, or a `FencingTokenError` if none did. */
export function readFencingToken(context: ExecutionContext): bigint {
  const given = tokenIn(context);
  if (given === undefined || given === null) {
    throw new FencingTokenError(
      `The request has no fencing token. Its sender puts that of its lock into the header \`${FENCING_TOKEN_HEADER}\`, by ` +
        `fencingHeaders(), or into the property \`${FENCING_TOKEN_PROPERTY}\` of a message`,
    );
  }
  return parseFencingToken(given);
}

function tokenIn(context: ExecutionContext): unknown {
  switch (context.getType<string>()) {
    case 'http':
      return headerOf(context.switchToHttp().getRequest<Request>());
    case 'graphql':
      return headerOf(requestOf(context.getArgByIndex<GraphqlContext | undefined>(2)));
    case 'ws':
      return propertyOf(context.switchToWs().getData());
    default:
      return propertyOf(context.switchToRpc().getData());
  }
}

const requestOf = (context: GraphqlContext | undefined): Request | undefined =>
  context?.req ?? context?.request ?? context?.reply?.request;

const headerOf = (request: Request | undefined): unknown =>
  request?.headers?.[FENCING_TOKEN_HEADER];

function propertyOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null
    ? Reflect.get(message, FENCING_TOKEN_PROPERTY)
    : undefined;
}
