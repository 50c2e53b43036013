import { Inject } from '@nestjs/common';
import { getLockServiceToken } from '../lock-service.token.js';

/** Injects the lock service of this name, the default one without a name. */
export function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(name));
}
