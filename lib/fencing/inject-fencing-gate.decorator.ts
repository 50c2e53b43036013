import { Inject } from '@nestjs/common';
import { getFencingGateToken } from './fencing-gate.token.js';

/** Injects the fencing gate of this name, the default one without a name. */
export function InjectFencingGate(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getFencingGateToken(name));
}
