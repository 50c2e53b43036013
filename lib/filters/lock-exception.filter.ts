import { type ArgumentsHost, Catch } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { LockError } from '../errors/lock.error.js';
import { inHttpForm, isInTransportForm } from './transport-form.js';

/**
 * Answers HTTP callers when a lock error comes from outside all interceptors: from a guard or a middleware. What comes
 * from handlers, pipes and services is answered without it.
 */
@Catch(LockError)
export class LockExceptionFilter extends BaseExceptionFilter {
  override catch(error: LockError, host: ArgumentsHost): void {
    super.catch(isInTransportForm(error) ? error : inHttpForm(error, host), host);
  }
}
