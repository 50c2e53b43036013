import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  Logger,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { LockConfigError } from '../errors/lock-config.error.js';
import { formForTransport } from '../filters/throw-for-transport.js';
import { fencingOf, type Fencing } from './fenced.accessor.js';
import type { FencingGate } from './fencing-gate.js';
import { getFencingGateToken } from './fencing-gate.token.js';
import { readFencingToken } from './read-fencing-token.js';

const logger = new Logger('FencingTokenGuard');

/** Calls of handlers that were let through: bound to class and method, the guard comes twice. */
const admitted = new WeakSet<ExecutionContext>();

/**
 * Passes the fencing token of a request through the gate. `@Fenced` binds it; bind it by `@UseGuards` too where it shall
 * stand before or after other guards.
 */
@Injectable()
export class FencingTokenGuard implements CanActivate {
  constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!admitted.has(context)) {
      await this.admit(context);
      admitted.add(context);
    }
    return true;
  }

  /** No interceptor sees what a guard throws, so it is put into the form of the transport here. */
  private async admit(context: ExecutionContext): Promise<void> {
    let gate: FencingGate | undefined;
    try {
      const { resource, service } = declaredFencing(context);
      gate = this.gateOf(service);
      const name = typeof resource === 'function' ? resource(context) : resource;
      await gate.admit(name, readFencingToken(context));
    } catch (error) {
      if (error instanceof LockConfigError) {
        logger.error(error);
      }
      throw await formForTransport(error, context, gate?.options.mapErrors ?? true);
    }
  }

  /** Wherever it is provided: guards are made in the modules that use them, and these may not import ours. */
  private gateOf(service: string | undefined): FencingGate {
    try {
      return this.modules.get(getFencingGateToken(service), { strict: false });
    } catch (cause) {
      const name = service === undefined ? '' : `, with the name "${service}"`;
      throw new LockConfigError(
        `@Fenced finds no fencing gate: import DistributedLockModule.forRoot(...)${name}`,
        { cause },
      );
    }
  }
}

function declaredFencing(context: ExecutionContext): Fencing {
  const fencing = fencingOf(context);
  if (fencing === undefined) {
    const handler = `${context.getClass().name}.${context.getHandler().name}`;
    throw new LockConfigError(
      `FencingTokenGuard stands before ${handler}, which says not what it writes to: add @Fenced(resource) to the handler or ` +
        'its class',
    );
  }
  return fencing;
}
