import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import { LockConfigError } from '../errors/lock-config.error.js';
import { kindOf } from '../key/kind-of.js';
import { text } from '../options/text-parsers.js';
import { type FencedResource, FENCING_METADATA, type Fencing } from './fenced.accessor.js';
import { FencingTokenGuard } from './fencing-token.guard.js';

/** Options of {@link Fenced}. */
export interface FencedOptions {
  /**
   * The named instance whose gate it is.
   * @default 'default'
   */
  readonly service?: string;
}

/**
 * Lets a request to a handler, or to any handler of a class, through only if its fencing token is not older than the
 * newest one that the resource has seen.
 */
export function Fenced(
  resource: FencedResource,
  { service }: FencedOptions = {},
): MethodDecorator & ClassDecorator {
  if (typeof resource !== 'function' && (typeof resource !== 'string' || resource === '')) {
    throw new LockConfigError(
      `@Fenced needs a resource, a string or a function of the ExecutionContext, and not ${kindOf(resource)}`,
    );
  }
  const fencing: Fencing = {
    resource,
    service: service === undefined ? undefined : text(service, 'service'),
  };
  return applyDecorators(SetMetadata(FENCING_METADATA, fencing), UseGuards(FencingTokenGuard));
}
