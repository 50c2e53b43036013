import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { readFencingToken } from './read-fencing-token.js';

const decorate = createParamDecorator((_: unknown, context: ExecutionContext) =>
  readFencingToken(context),
);

/** Gives a handler the fencing token that came with its request, a bigint; a request without one is a `FencingTokenError`. */
export function FencingToken(): ParameterDecorator {
  return decorate();
}
